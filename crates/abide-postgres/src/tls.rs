//! Encrypted connections, as `sslmode` and `sslrootcert` in the URL say, with the meaning that PostgreSQL's own clients give them, but that
//! `verify-ca` checks the name, too:
//!
//! | `sslmode` | encrypted | who the server is |
//! |---|---|---|
//! | `disable` | no | |
//! | `prefer` (the default) | if the server can | not checked, unless `sslrootcert` is given |
//! | `require` | yes | not checked, unless `sslrootcert` is given |
//! | `verify-ca`, `verify-full` | yes | checked, with its name, against `sslrootcert`, or against the roots that browsers trust |

use std::task::{Context, Poll};

use percent_encoding::percent_decode_str;
use tokio_postgres::config::SslMode;
use tokio_postgres::tls::NoTlsStream;
use tokio_postgres::{AsyncMessage, Client, Config, Connection, NoTls, Socket};

use crate::error::OpenError;

/// How connections are encrypted.
#[derive(Clone)]
pub(crate) struct Encryption {
    mode: SslMode,
    #[cfg(feature = "tls")]
    tls: Option<tokio_postgres_rustls::MakeRustlsConnect>,
}

#[cfg(feature = "tls")]
type RustlsStream =
    <tokio_postgres_rustls::MakeRustlsConnect as tokio_postgres::tls::MakeTlsConnect<Socket>>::Stream;

/// What moves the bytes of one connection.
pub(crate) enum Stream {
    Plain(Box<Connection<Socket, NoTlsStream>>),
    #[cfg(feature = "tls")]
    Encrypted(Box<Connection<Socket, RustlsStream>>),
}

impl Stream {
    pub(crate) fn poll_message(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<AsyncMessage, tokio_postgres::Error>>> {
        match self {
            Self::Plain(connection) => connection.poll_message(context),
            #[cfg(feature = "tls")]
            Self::Encrypted(connection) => connection.poll_message(context),
        }
    }
}

/// Whether it matters who the server is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Server {
    Anybody,
    Verified,
}

/// What a URL says about encryption.
#[derive(Debug, Default, PartialEq, Eq)]
struct Wish {
    mode: Option<String>,
    root: Option<String>,
}

impl Encryption {
    /// Takes what is about encryption out of a URL.
    pub(crate) fn take_from(url: &str) -> Result<(String, Self), OpenError> {
        let (rest, wish) = split(url);
        let unless_told = if wish.root.is_some() { Server::Verified } else { Server::Anybody };
        let (mode, server) = match wish.mode.as_deref() {
            Some("disable") => (SslMode::Disable, Server::Anybody),
            None | Some("prefer") => (SslMode::Prefer, unless_told),
            Some("require") => (SslMode::Require, unless_told),
            Some("verify-ca" | "verify-full") => (SslMode::Require, Server::Verified),
            Some(other) => {
                let reason = "it must be disable, prefer, require, verify-ca or verify-full";
                return Err(OpenError::Setting { setting: "sslmode", value: other.to_owned(), reason });
            }
        };
        Ok((rest, Self::new(mode, server, wish.root.as_deref())?))
    }

    pub(crate) fn mode(&self) -> SslMode {
        self.mode
    }

    #[cfg(feature = "tls")]
    fn new(mode: SslMode, server: Server, root: Option<&str>) -> Result<Self, OpenError> {
        if mode == SslMode::Disable {
            return Ok(Self { mode, tls: None });
        }
        let config = with_rustls::config(server, root).map_err(|reason| OpenError::Tls { reason })?;
        Ok(Self { mode, tls: Some(tokio_postgres_rustls::MakeRustlsConnect::new(config)) })
    }

    #[cfg(not(feature = "tls"))]
    fn new(mode: SslMode, server: Server, _root: Option<&str>) -> Result<Self, OpenError> {
        if mode == SslMode::Require || server == Server::Verified {
            let reason =
                "abide-postgres was built without its feature `tls`: add it, or say `sslmode=disable`"
                    .to_owned();
            return Err(OpenError::Tls { reason });
        }
        Ok(Self { mode: SslMode::Disable })
    }

    pub(crate) async fn connect(&self, config: &Config) -> Result<(Client, Stream), tokio_postgres::Error> {
        #[cfg(feature = "tls")]
        if let Some(tls) = &self.tls {
            let (client, connection) = config.connect(tls.clone()).await?;
            return Ok((client, Stream::Encrypted(Box::new(connection))));
        }
        let (client, connection) = config.connect(NoTls).await?;
        Ok((client, Stream::Plain(Box::new(connection))))
    }
}

/// A URL without what it says about encryption, which the driver understands only in part.
fn split(url: &str) -> (String, Wish) {
    let mut wish = Wish::default();
    let Some((place, query)) = url.split_once('?') else { return (url.to_owned(), wish) };
    let mut rest = Vec::new();
    for pair in query.split('&') {
        match pair.split_once('=') {
            Some(("sslmode", mode)) => wish.mode = Some(decoded(mode)),
            Some(("sslrootcert", file)) => wish.root = Some(decoded(file)),
            Some(_) | None => rest.push(pair),
        }
    }
    let rest = if rest.is_empty() { place.to_owned() } else { format!("{place}?{}", rest.join("&")) };
    (rest, wish)
}

fn decoded(text: &str) -> String {
    percent_decode_str(text).decode_utf8_lossy().into_owned()
}

#[cfg(feature = "tls")]
mod with_rustls {
    use std::sync::Arc;

    use super::Server;
    use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
    use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
    use rustls::pki_types::pem::PemObject;
    use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
    use rustls::{ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};

    pub(super) fn config(server: Server, root: Option<&str>) -> Result<ClientConfig, String> {
        let provider = Arc::new(ring::default_provider());
        let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .map_err(|error| error.to_string())?;
        Ok(match server {
            Server::Verified => builder.with_root_certificates(roots(root)?).with_no_client_auth(),
            Server::Anybody => {
                let anybody = Arc::new(Anybody(provider));
                builder.dangerous().with_custom_certificate_verifier(anybody).with_no_client_auth()
            }
        })
    }

    fn roots(file: Option<&str>) -> Result<RootCertStore, String> {
        let mut roots = RootCertStore::empty();
        let Some(file) = file else {
            roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
            return Ok(roots);
        };
        let unreadable =
            |error: &dyn std::fmt::Display| format!("cannot read `sslrootcert` '{file}': {error}");
        let certificates = CertificateDer::pem_file_iter(file).map_err(|error| unreadable(&error))?;
        for certificate in certificates {
            let certificate = certificate.map_err(|error| unreadable(&error))?;
            roots.add(certificate).map_err(|error| unreadable(&error))?;
        }
        if roots.is_empty() {
            return Err(format!("`sslrootcert` '{file}' holds no certificate"));
        }
        Ok(roots)
    }

    /// Talks to whoever answers: encryption against those who listen, and against nobody else. What `prefer` and `require` mean to every
    /// client of PostgreSQL.
    #[derive(Debug)]
    struct Anybody(Arc<CryptoProvider>);

    impl ServerCertVerifier for Anybody {
        fn verify_server_cert(
            &self,
            _end_entity: &CertificateDer<'_>,
            _intermediates: &[CertificateDer<'_>],
            _server_name: &ServerName<'_>,
            _ocsp_response: &[u8],
            _now: UnixTime,
        ) -> Result<ServerCertVerified, rustls::Error> {
            Ok(ServerCertVerified::assertion())
        }

        fn verify_tls12_signature(
            &self,
            message: &[u8],
            certificate: &CertificateDer<'_>,
            signature: &DigitallySignedStruct,
        ) -> Result<HandshakeSignatureValid, rustls::Error> {
            verify_tls12_signature(message, certificate, signature, &self.0.signature_verification_algorithms)
        }

        fn verify_tls13_signature(
            &self,
            message: &[u8],
            certificate: &CertificateDer<'_>,
            signature: &DigitallySignedStruct,
        ) -> Result<HandshakeSignatureValid, rustls::Error> {
            verify_tls13_signature(message, certificate, signature, &self.0.signature_verification_algorithms)
        }

        fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
            self.0.signature_verification_algorithms.supported_schemes()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_about_encryption_is_taken_out_and_decoded() {
        let root = |file: &str| Wish { mode: Some("require".to_owned()), root: Some(file.to_owned()) };
        for (url, rest, wish) in [
            ("postgres://h/d", "postgres://h/d", Wish::default()),
            (
                "postgres://h/d?sslmode=require&sslrootcert=/etc/my%20roots/%C3%A4.pem",
                "postgres://h/d",
                root("/etc/my roots/\u{e4}.pem"),
            ),
            (
                "postgres://h/d?connect_timeout=3&sslrootcert=a.pem&sslmode=require&options=x",
                "postgres://h/d?connect_timeout=3&options=x",
                root("a.pem"),
            ),
        ] {
            assert_eq!(split(url), (rest.to_owned(), wish), "{url}");
        }
    }
}
