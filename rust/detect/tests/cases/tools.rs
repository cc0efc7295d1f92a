//! What programs are called with, print and keep: lists of arguments, calls, servers, dumps.

use super::Notation;

pub(super) const LISTS: Notation = Notation {
    name: "lists of arguments",
    found: &[
        "[\"redis-cli\", \"-a\", \"{p}\", \"ping\"]",
        "{\"args\":[\"redis-cli\",\"-h\",\"r1\",\"-a\",\"{p}\"]}",
        "{\"args\":\"[\\\"redis-cli\\\",\\\"-a\\\",\\\"{p}\\\"]\"}",
        "subprocess.run(['docker', 'login', '-u', 'x', '-p', '{p}'])",
        "spawn(\"redis-cli\", [\"-a\", \"{p}\"])",
        "exec.Command(\"sshpass\", \"-p\", \"{p}\", \"ssh\", \"h\")",
        "\"cmd\": [\n  \"mongosh\",\n  \"-u\",\n  \"root\",\n  \"-p\",\n  \"{p}\"\n]",
        "[\"sqlcmd\",\"-S\",\"db\",\"-U\",\"sa\",\"-P\",\"{s}\"]",
        "[\"ldapsearch\",\"-x\",\"-D\",\"cn=admin\",\"-w\",\"{p}\"]",
        "[\"az\",\"login\",\"-u\",\"x\",\"-p\",\"{p}\",\"--tenant\",\"y\"]",
        "[\"mysqladmin\",\"-u\",\"root\",\"-p{p}\",\"status\"]",
        "ipmitool -H h -U root -P {p} power status\n",
        "rdesktop -u bob -p {p} host\n",
        "snmpwalk -v3 -A {p} -X {p} host\n",
        "http -a bob:{p} GET x.test\n",
        "schtasks /create /tn x /ru bob /rp {p}\n",
        "net use Z: \\\\srv\\share {p} /user:bob\n",
        "rabbitmqctl add_user bob {p}\n",
        "rabbitmqctl change_password bob {p}\n",
        "wpa_passphrase Home {p}\n",
        "redis-cli AUTH {p}\n",
        "1700000000.1 [0 10.0.0.1:55] \"AUTH\" \"{p}\"\n",
        "1700000000.1 [0 10.0.0.1:55] \"AUTH\" \"bob\" \"{p}\"\n",
    ],
    kept: &[
        "[\"redis-cli\",\"-a\",\"$REDIS_PASSWORD\"]",
        "[\"docker\",\"run\",\"-p\",\"8080:80\",\"nginx\"]",
        "[\"mkdir\",\"-p\",\"/var/lib/app2\"]",
        "[\"tar\", \"-p\", \"archive1\"]",
        "[\"ssh\",\"-p\",\"2222\",\"bob@host\"]",
        "args: [\"-p\", \"8080\"]",
        "ls -a Abcd123efg\n",
        "curl -X POST -A Agent12x https://x.test/\n",
    ],
};

pub(super) const CALLS: Notation = Notation {
    name: "calls",
    found: &[
        "conn.login('bob@x.test', '{p}', done)",
        "$ftp->login(\"bob\", \"{p}\");",
        "smtp.login(user, \"{p}\")",
        "l.simple_bind_s(\"cn=admin,dc=x\", \"{p}\")",
        "ldap_bind($c, \"cn=admin\", \"{p}\");",
        "DriverManager.getConnection(url, \"root\", \"{p}\");",
        "DriverManager.getConnection(\"jdbc:x://db,db2/a\", \"root\", \"{p}\");",
        "new mysqli(\"localhost\", \"root\", \"{p}\", \"db\");",
        "mysqli_connect('localhost', 'root', '{p}');",
        "new PDO(\"mysql:host=db\", \"root\", \"{p}\");",
        "sql.Open(\"mysql\", \"root:{p}@/app\")",
        "jwt.sign(payload, \"{p}\")",
        "WiFi.begin(\"Home\", \"{p}\");",
        "var jwtSecret = []byte(\"{p}\")",
        "password <- \"{p}\"",
    ],
    kept: &[
        "app.login(username, password)",
        "user.login('facebook', callback)",
        "describe(\"login\", \"page object\")",
        "plugin(\"name\", \"value12345\")",
        "login(\"home\", {title: \"Log in\"})",
        "router.post(\"/login\", controller.login)",
        "jwt.decode(token, options)",
        "sql.Open(\"mysql\", dsn)",
        "sql.Open(\"mysql\", \"user@/db?charset=utf8\")",
        "DriverManager.getConnection(url, user, pass)",
    ],
};

pub(super) const SERVERS: Notation = Notation {
    name: "servers without a scheme",
    found: &[
        "Connecting to bob:{p}@10.0.0.5:27017\n",
        "dsn=app:{p}@192.168.0.7:5432/app\n",
        "proxy: bob:{p}@localhost:3128\n",
        "{\"db\":\"app:{p}@127.0.0.1:3306/app\"}",
        "[mail.x.test]:587 bob@x.test:{p}\n",
    ],
    kept: &[
        "sip:Alice12x@10.0.0.5:5060\n",
        "build:linux-amd64-v2@10.0.0.5:5000/image\n",
        "at 10:15:32 host1:web-frontend-7d9f8b6c5d-x2x9z@node1\n",
        "user:JohnSmith85@gmail.com logged in\n",
        "10.0.0.1:50412 -> bob@10.0.0.2:22\n",
        "bob:$PASSWORD@10.0.0.2:22\n",
        "[::1]:58734 bob2x:wrote\n",
    ],
};

pub(super) const DUMPS: Notation = Notation {
    name: "dumps",
    found: &[
        "INSERT INTO `user` VALUES ('localhost','root','*{h}','Y');",
        "CREATE USER `bob`@`%` IDENTIFIED WITH 'mysql_native_password' AS '*{h}' REQUIRE NONE;",
        "root\tlocalhost\t*{h}\n",
        "| root | localhost | *{h} |\n",
        "new BasicAWSCredentials(\"{i}\", \"{k}\")",
        "bob,{i},{k}\n",
        "CREDENTIALS\t{i}\t2024-01-01T00:00:00Z\t{k}\tx\n",
        "DefaultPassword    REG_SZ    {p}\n",
        "reg add HKLM\\x /v DefaultPassword /t REG_SZ /d {p}\n",
        "username bob privilege 15 password 0 {p}\n",
        "key \"k\" { algorithm hmac-sha256; secret \"{t}\"; };\n",
        "bindpw {p}\n",
        "LDAP_BINDPW=\"{p}\"\n",
        "user=bob pw={p} host=h\n",
    ],
    kept: &[
        "password 3 times wrong\n",
        "secret \"team\" channel\n",
        "DefaultPassword    REG_SZ    \n",
        "password                    string     required\n",
        "md5sum *ABCDEF0123\n",
    ],
};

pub(super) const MIXED: Notation = Notation {
    name: "forms of other programs",
    found: &[
        "| key | value |\n|---|---|\n| DB_PASSWORD | {p} |\n| HOST | db |\n",
        "| `API_TOKEN` | `{t}` |\n",
        "token   x\npassword             {p}\n",
        "<AutoLogon><Password><Value>{p}</Value></Password></AutoLogon>",
        "<setting name=\"ApiSecret\" serializeAs=\"String\"><value>{t}</value></setting>",
        "org.x.security.plain.PlainLoginModule required\n  username=\"a\" user_admin=\"{p}\" user_bob=\"{p}\";",
        "A temporary password is generated for root@localhost: {s}\n",
        "Your API key is {t}\n",
        "pre-shared-key {p}\n",
    ],
    kept: &[
        "| password | string | required |\n",
        "| token | The API token | yes |\n",
        "<setting name=\"PasswordPolicy\" serializeAs=\"String\"><value>Strong8Chars</value></setting>",
        "UNIQUE KEY `index_of_names2` (`name`)",
        "\"-p\" is the flag of redis-cli for \"port2345\"",
    ],
};
