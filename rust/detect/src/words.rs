//! The words that names of secrets are made of, in lower case: data for `keys.rs`.

/// Words for a password.
pub(crate) const PASSWORD: &str = "\
    password passwd passwort passphrase passcode pass pwd psw psk pword passwords userpass passw pw \
    bindpw rootpw passe masterauth";
/// Words for a secret.
pub(crate) const SECRET: &str = "secret secrets credential credentials creds cred salt secretkey";
/// Words for a token.
pub(crate) const TOKEN: &str = "\
    token tokens jwt authtoken accesstoken refreshtoken sessiontoken idtoken csrf bearer signature sig \
    nonce otp sessionid sessid phpsessid jsessionid sid sessionkey apitoken";
/// Words for a key to an interface.
pub(crate) const API_KEY: &str = "apikey accesskey authkey licensekey appkey keysecret appsecret";
/// Words that make a secret of the `key` beside them.
pub(crate) const KEYED: &str = "\
    api access auth app application license licence account service client consumer admin shared storage \
    subscription partner merchant deploy write ingest ingestion integration master instrumentation \
    server user customer webhook tracking project site developer dev prod production live test rest io";
/// Words that make a key that of a cipher or a signature.
pub(crate) const CIPHER: &str = "\
    private priv encryption encrypt decryption decrypt signing sign secret hmac aes cipher crypto rsa \
    ssh pgp gpg ssl tls session cookie jwt hash kms wallet seed recovery unseal host identity preshared \
    sharedsecret";
/// What a name ends in when it tells of a secret rather than holding one.
pub(crate) const ABOUT: &str = "\
    url uri urls endpoint path paths file files filename dir directory name names type types length len \
    count counts size field fields label policy policies expiry expires expiration expired ttl hint \
    prompt min max regex pattern format algorithm algo alg version ref reference arn env var header \
    param params placeholder rotation age limit usage used budget error errors exception valid invalid \
    validator validation required enabled disabled manager provider store service handler helper util \
    utils class func function method generator input output form page reset forgot change changed update \
    updated created at date time timestamp timeout strength char chars index position map list set dict \
    cache pool mode state status scope scopes column table schema property properties prefix suffix sep \
    separator is has needed option options config settings source issuer audience kind rate price cost \
    limits per ids id title description desc msg message text callback checker encoder matches match \
    lifetime hash_algo iterations rounds protected less ful scheme domain host port region realm agent \
    sock socket selector hasher hashers xpath css icon";
/// Words at the end that say how a secret is written or where it is used, and so are passed over.
pub(crate) const PASSED: &str = "\
    base prod production dev development test testing staging stage live value val string str raw plain \
    plaintext plaintxt enc encrypted hash hashed b64 base64 hex default current old new confirm \
    confirmation again repeat primary secondary root admin master v1 v2 data env here digest decrypted \
    local ci main ro rw read write key x s";
/// Keys that open nothing.
pub(crate) const PLAIN_KEYS: &str = "cache primary sort partition index object dict map hot lookup";
/// What is done with passwords, as the first word of a name.
pub(crate) const DOING: &str = "\
    forgot forget reset change update edit add show hide toggle validate verify check require requires \
    get set has is no lost generate create enter ask";
/// Words that end in `pass` and are not passwords.
pub(crate) const NOT_PASS: &str =
    "bypass compass surpass encompass trespass underpass overpass multipass getpass askpass";
/// Words of a key that everybody may have.
pub(crate) const PUBLIC: &str = "public pub publishable foreign partition sort";
/// Words beside `key` that make it one of an API even where a cipher is named.
pub(crate) const ACCESS: &str = "access api";
/// Words before `token` that make it one of a list or of a text.
pub(crate) const PAGING: &str = "\
    next page continuation sync previous prev cancellation max num total stop pad eos bos unk mask input \
    output prompt completion";
