//! Bytes and UTF-8: what the layers above need to know about text before they look for anything in it.
