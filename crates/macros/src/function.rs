//! The function that an attribute is on, and the test made of it.

use proc_macro::{Delimiter, Group, Ident, Span, TokenStream, TokenTree};

use crate::options::{Opt, is_punct};
use crate::{Error, Tokens};

/// A function without parameters, in parts.
pub struct Function {
    attributes: TokenStream,
    visibility: TokenStream,
    is_async: bool,
    name: Ident,
    parameters: Group,
    /// `-> ...`, if there is one.
    output: TokenStream,
    body: Group,
    pub should_panic: bool,
}

type Rest = std::iter::Peekable<proc_macro::token_stream::IntoIter>;

/// Takes a function apart.
pub fn parse(item: TokenStream) -> Result<Function, Error> {
    let mut rest = item.into_iter().peekable();
    let (attributes, should_panic) = attributes(&mut rest)?;
    let visibility = visibility(&mut rest);
    let is_async = qualifiers(&mut rest)?;
    let Some(TokenTree::Ident(name)) = rest.next() else { return Err(not_a_function(None)) };
    let parameters = match rest.next() {
        Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Parenthesis => group,
        Some(token) => return Err(Error::new("a test has no generic parameters", token.span())),
        None => return Err(not_a_function(None)),
    };
    if let Some(parameter) = parameters.stream().into_iter().next() {
        return Err(Error::new("a test has no parameters", parameter.span()));
    }
    let (output, body) = output_and_body(&mut rest)?;
    Ok(Function { attributes, visibility, is_async, name, parameters, output, body, should_panic })
}

fn not_a_function(span: Option<Span>) -> Error {
    let span = span.unwrap_or_else(Span::call_site);
    Error::new("`#[mazurka::test]` is for functions: `fn name() { ... }`", span)
}

/// The attributes below ours, and whether one of them is `#[should_panic]`.
fn attributes(rest: &mut Rest) -> Result<(TokenStream, bool), Error> {
    let (mut tokens, mut should_panic) = (Vec::new(), false);
    while let Some(hash) = rest.next_if(|token| is_punct(token, '#')) {
        tokens.push(hash);
        let Some(TokenTree::Group(group)) = rest.next() else { return Err(not_a_function(None)) };
        let mut path = Vec::new();
        for token in group.stream() {
            match token {
                TokenTree::Ident(ident) => path.push(ident),
                token if is_punct(&token, ':') => {}
                _ => break,
            }
        }
        if let Some(last) = path.last().filter(|last| last.to_string() == "test") {
            return Err(Error::new("`#[mazurka::test]` makes a test already", last.span()));
        }
        should_panic |= path.first().is_some_and(|first| first.to_string() == "should_panic");
        tokens.push(TokenTree::Group(group));
    }
    Ok((tokens.into_iter().collect(), should_panic))
}

fn visibility(rest: &mut Rest) -> TokenStream {
    let mut tokens = Vec::new();
    if let Some(token) = rest.next_if(|token| is_word(token, "pub")) {
        tokens.push(token);
        let is_limit = |token: &TokenTree| match token {
            TokenTree::Group(group) => group.delimiter() == Delimiter::Parenthesis,
            _ => false,
        };
        tokens.extend(rest.next_if(is_limit));
    }
    tokens.into_iter().collect()
}

/// What stands before the name; gives whether the function is `async`.
fn qualifiers(rest: &mut Rest) -> Result<bool, Error> {
    let mut is_async = false;
    loop {
        match rest.next() {
            Some(token) if is_word(&token, "fn") => return Ok(is_async),
            Some(token) if is_word(&token, "async") => is_async = true,
            Some(token) if ["const", "unsafe", "extern"].iter().any(|word| is_word(&token, word)) => {
                return Err(Error::new(format!("a test is not `{token}`"), token.span()));
            }
            token => return Err(not_a_function(token.map(|token| token.span()))),
        }
    }
}

fn output_and_body(rest: &mut Rest) -> Result<(TokenStream, Group), Error> {
    let mut output: Vec<TokenTree> = Vec::new();
    loop {
        match rest.next() {
            Some(TokenTree::Group(group))
                if group.delimiter() == Delimiter::Brace && rest.peek().is_none() =>
            {
                return Ok((output.into_iter().collect(), group));
            }
            Some(token) if is_word(&token, "where") => {
                return Err(Error::new("a test has no generic parameters", token.span()));
            }
            Some(token) => output.push(token),
            None => return Err(not_a_function(output.last().map(TokenTree::span))),
        }
    }
}

fn is_word(token: &TokenTree, word: &str) -> bool {
    matches!(token, TokenTree::Ident(ident) if ident.to_string() == word)
}

impl Function {
    /// ```ignore
    /// attributes
    /// #[::core::prelude::v1::test]
    /// fn name() {
    ///     fn name() -> Output { body }
    ///     ::mazurka::Checker::declared("name", module_path!(), file!(), env!("CARGO_MANIFEST_DIR"))
    ///         .option(value)
    ///         .check(|| ::mazurka::__macro::Termination::unwrap_result(name()));
    /// }
    /// ```
    pub fn test(&self, options: &[Opt]) -> TokenStream {
        let mut test = Tokens::at(Span::mixed_site());
        test.add(self.attributes.clone());
        test.punct('#').group(Delimiter::Bracket, |inside| inside.path(&["core", "prelude", "v1", "test"]));
        test.add(self.visibility.clone()).ident("fn").add([TokenTree::Ident(self.name.clone())]);
        test.group(Delimiter::Parenthesis, |inside| inside);
        test.group(Delimiter::Brace, |inside| {
            self.original(inside);
            self.checker(inside);
            for option in options {
                inside.punct('.').add([TokenTree::Ident(Ident::new(&option.name, option.span))]);
                inside.group(Delimiter::Parenthesis, |argument| argument.add(option.value.clone()));
            }
            inside.punct('.').ident("check");
            inside.group(Delimiter::Parenthesis, |argument| self.closure(argument)).punct(';')
        });
        test.stream
    }

    /// The function as it was written.
    fn original(&self, tokens: &mut Tokens) {
        if self.is_async {
            tokens.ident("async");
        }
        tokens
            .ident("fn")
            .add([TokenTree::Ident(self.name.clone()), TokenTree::Group(self.parameters.clone())]);
        tokens.add(self.output.clone()).add([TokenTree::Group(self.body.clone())]);
    }

    fn checker(&self, tokens: &mut Tokens) {
        tokens.path(&["mazurka", "Checker", "declared"]).group(Delimiter::Parenthesis, |arguments| {
            arguments.string(&self.name.to_string()).punct(',');
            arguments.macro_call("module_path").punct(',').macro_call("file").punct(',');
            arguments.path(&["core", "env"]).punct('!');
            arguments.group(Delimiter::Parenthesis, |name| name.string("CARGO_MANIFEST_DIR"))
        });
    }

    fn closure<'t>(&self, tokens: &'t mut Tokens) -> &'t mut Tokens {
        // Where the function gives something else, the compiler points at the type.
        let span = self.output.clone().into_iter().last().map_or(tokens.span, |last| last.span());
        let mut unwrap = Tokens::at(span.resolved_at(tokens.span));
        unwrap.path(&["mazurka", "__macro", "Termination", "unwrap_result"]);
        tokens.punct('|').punct('|').add(unwrap.stream);
        tokens.group(Delimiter::Parenthesis, |argument| {
            if self.is_async {
                argument.path(&["mazurka", "future", "block_on"]);
                argument.group(Delimiter::Parenthesis, |future| self.call(future))
            } else {
                self.call(argument)
            }
        })
    }

    fn call<'t>(&self, tokens: &'t mut Tokens) -> &'t mut Tokens {
        tokens.add([TokenTree::Ident(self.name.clone())]).group(Delimiter::Parenthesis, |inside| inside)
    }
}
