//! `--db WHERE`, for all examples: the store they run on. `./file.db`, `sqlite:file.db` or `postgres://user:password@host/database`.

use abide::ProviderRef;

/// Opens what the command line says, or else this. Errors are texts, because a program that ends with one shows it as it is.
pub(crate) async fn open_or(otherwise: &str) -> Result<ProviderRef, String> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let address = match &arguments[..] {
        [] => otherwise,
        [option, address] if option == "--db" => address,
        _ => {
            return Err("usage: [--db ./file.db | --db postgres://user:password@host/database]".to_owned());
        }
    };
    abide::providers::open(address).await.map_err(|error| error.to_string())
}
