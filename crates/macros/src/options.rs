//! The options in an attribute: `max_executions = 1000, spurious_wakeups`.

use proc_macro::{Ident, Span, TokenStream, TokenTree};

use crate::Error;

/// An option, which is a method of `Checker` with one argument.
pub struct Opt {
    pub name: String,
    pub span: Span,
    /// The argument.
    pub value: TokenStream,
}

/// Those that are either on or off.
const SWITCHES: [&str; 8] = [
    "spurious_wakeups",
    "spurious_polls",
    "spurious_failures",
    "leaks",
    "keep_going",
    "observe_memory",
    "regressions",
    "verbose",
];

/// Those that need a value.
const VALUES: [&str; 13] = [
    "algorithm",
    "jobs",
    "journal",
    "max_executions",
    "max_time",
    "max_depth",
    "max_unroll",
    "max_memory",
    "stack_size",
    "seed",
    "replay",
    "name",
    "hang_timeout",
];

/// The options, each at most once.
pub fn parse(tokens: TokenStream) -> Result<Vec<Opt>, Error> {
    let mut options: Vec<Opt> = Vec::new();
    let mut rest = tokens.into_iter().peekable();
    while let Some(token) = rest.next() {
        let TokenTree::Ident(name) = token else {
            return Err(Error::new("expected the name of an option", token.span()));
        };
        let mut value = Vec::new();
        for token in rest.by_ref().take_while(|token| !is_punct(token, ',')) {
            value.push(token);
        }
        let option = option(&name, value)?;
        if options.iter().any(|known| known.name == option.name) {
            return Err(Error::new(format!("option `{}` is there already", option.name), option.span));
        }
        options.push(option);
    }
    Ok(options)
}

/// A switch that is off.
pub fn off(name: &str) -> Opt {
    Opt { name: name.to_owned(), span: Span::call_site(), value: ident("false", Span::call_site()) }
}

fn option(name: &Ident, tokens: Vec<TokenTree>) -> Result<Opt, Error> {
    let (text, span) = (name.to_string(), name.span());
    let is_switch = SWITCHES.contains(&text.as_str());
    if !is_switch && !VALUES.contains(&text.as_str()) {
        let known: Vec<&str> = VALUES.into_iter().chain(SWITCHES).collect();
        return Err(Error::new(format!("unknown option `{text}`; there are {}", known.join(", ")), span));
    }
    let value: TokenStream = match tokens.split_first() {
        None if is_switch => ident("true", span),
        Some((equals, value)) if is_punct(equals, '=') && !value.is_empty() => {
            if text == "algorithm" {
                algorithm(value)?
            } else {
                value.iter().cloned().collect()
            }
        }
        _ => return Err(Error::new(format!("option `{text}` needs a value: `{text} = ...`"), span)),
    };
    Ok(Opt { name: text, span, value })
}

/// The algorithm that a string names.
fn algorithm(value: &[TokenTree]) -> Result<TokenStream, Error> {
    let [TokenTree::Literal(literal)] = value else {
        return Err(Error::new("an algorithm is a string: \"optimal\"", value[0].span()));
    };
    let variant = match literal.to_string().as_str() {
        "\"optimal\"" => "Optimal",
        "\"wake-up\"" => "WakeUp",
        "\"source\"" => "Source",
        "\"naive\"" => "Naive",
        "\"data-centric\"" => "DataCentric",
        "\"reads-from\"" => "ReadsFrom",
        _ => {
            let message = format!(
                "{literal} is no algorithm; there are \"optimal\", \"wake-up\", \"source\", \"naive\", \
                 \"data-centric\", \"reads-from\""
            );
            return Err(Error::new(message, literal.span()));
        }
    };
    let mut tokens = crate::Tokens::at(literal.span());
    tokens.path(&["mazurka", "Algorithm", variant]);
    Ok(tokens.stream)
}

fn ident(name: &str, span: Span) -> TokenStream {
    TokenTree::Ident(Ident::new(name, span)).into()
}

pub fn is_punct(token: &TokenTree, character: char) -> bool {
    matches!(token, TokenTree::Punct(punct) if punct.as_char() == character)
}
