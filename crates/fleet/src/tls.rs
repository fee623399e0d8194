//! Connections that nobody can listen to, by rustls.

use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::{ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, ServerName, UnixTime};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::address::Trust;

/// How connections are made.
///
/// # Errors
/// If there are no certificates to trust: why not.
pub(crate) fn connector(trust: &Trust) -> Result<MakeRustlsConnect, String> {
    let provider = Arc::new(ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider.clone()).with_safe_default_protocol_versions();
    let builder = builder.map_err(|error| error.to_string())?;
    let config = match trust {
        Trust::Anybody => builder.dangerous().with_custom_certificate_verifier(Arc::new(Anybody(provider))),
        Trust::Certified(file) => builder.with_root_certificates(roots(file.as_deref())?),
    };
    Ok(MakeRustlsConnect::new(config.with_no_client_auth()))
}

fn roots(file: Option<&std::path::Path>) -> Result<RootCertStore, String> {
    let mut roots = RootCertStore::empty();
    match file {
        Some(file) => {
            let refuse = |why: String| format!("{}: no certificates can be read: {why}", file.display());
            let found = CertificateDer::pem_file_iter(file).map_err(|error| refuse(error.to_string()))?;
            for certificate in found {
                let certificate = certificate.map_err(|error| refuse(error.to_string()))?;
                roots.add(certificate).map_err(|error| refuse(error.to_string()))?;
            }
            if roots.is_empty() {
                return Err(refuse("the file has none".to_owned()));
            }
        }
        None => {
            // What can't be read of the system's roots vouches for nobody.
            let (_, _) = roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
            if roots.is_empty() {
                return Err("this system has no root certificates; sslrootcert=FILE names some".to_owned());
            }
        }
    }
    Ok(roots)
}

/// Believes any certificate, as `sslmode=require` has it; that the other end has the key to it is checked.
#[derive(Debug)]
struct Anybody(Arc<CryptoProvider>);

impl ServerCertVerifier for Anybody {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, certificate, signed, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, certificate, signed, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
