//! The attribute `#[mazurka::test]`.
//!
//! It is written on tokens alone: a function without parameters has so few parts that to look for them one by
//! one is simpler than a parser of Rust, and users of the library don't have to build one.

mod function;
mod options;

use proc_macro::{Delimiter, Group, Ident, Literal, Punct, Spacing, Span, TokenStream, TokenTree};

/// Makes a test of a function: its body is checked under every interleaving of its threads that matters.
///
/// The function has no parameters and gives nothing, or a `Result<(), E>` whose error is a failure. It may be
/// `async`; then it is run by `mazurka::future::block_on`. Other attributes, such as `#[ignore]` and
/// `#[should_panic]`, keep their meaning; a test that should panic saves no failures.
///
/// Options are those of `mazurka::Checker`, as `name = value`; where the value is `true` it can be left out:
/// `#[mazurka::test(max_executions = 1000, spurious_wakeups)]`. The value of `algorithm` is a string.
///
/// ```ignore
/// use mazurka::sync::{Arc, Mutex};
/// use mazurka::thread;
///
/// #[mazurka::test(spurious_wakeups)]
/// fn deposits_add_up() {
///     let balance = Arc::new(Mutex::new(0));
///     let other = balance.clone();
///     let deposit = thread::spawn(move || *other.lock().unwrap() += 10);
///     *balance.lock().unwrap() += 5;
///     deposit.join().unwrap();
///     assert_eq!(*balance.lock().unwrap(), 15);
/// }
/// ```
#[proc_macro_attribute]
pub fn test(options: TokenStream, item: TokenStream) -> TokenStream {
    match expand(options, item.clone()) {
        Ok(test) => test,
        // The function stays, so that uses of it are no errors of their own.
        Err(error) => error.tokens().into_iter().chain(item).collect(),
    }
}

/// What is wrong, and where.
struct Error {
    message: String,
    span: Span,
}

impl Error {
    fn new(message: impl Into<String>, span: Span) -> Error {
        Error { message: message.into(), span }
    }

    /// `::core::compile_error!("...");`
    fn tokens(&self) -> TokenStream {
        let mut tokens = Tokens::at(self.span);
        tokens.path(&["core", "compile_error"]).punct('!');
        tokens.group(Delimiter::Brace, |inside| inside.string(&self.message));
        tokens.stream
    }
}

fn expand(options: TokenStream, item: TokenStream) -> Result<TokenStream, Error> {
    let function = function::parse(item)?;
    let mut options = options::parse(options)?;
    if function.should_panic && !options.iter().any(|option| option.name == "regressions") {
        options.push(options::off("regressions"));
    }
    Ok(function.test(&options))
}

/// Tokens that are being written, all at one place.
struct Tokens {
    stream: TokenStream,
    span: Span,
}

impl Tokens {
    fn at(span: Span) -> Tokens {
        Tokens { stream: TokenStream::new(), span }
    }

    fn add(&mut self, tokens: impl IntoIterator<Item = TokenTree>) -> &mut Tokens {
        self.stream.extend(tokens);
        self
    }

    fn ident(&mut self, name: &str) -> &mut Tokens {
        let ident = Ident::new(name, self.span);
        self.add([TokenTree::Ident(ident)])
    }

    fn punct(&mut self, character: char) -> &mut Tokens {
        let mut punct = Punct::new(character, Spacing::Alone);
        punct.set_span(self.span);
        self.add([TokenTree::Punct(punct)])
    }

    fn string(&mut self, text: &str) -> &mut Tokens {
        let mut literal = Literal::string(text);
        literal.set_span(self.span);
        self.add([TokenTree::Literal(literal)])
    }

    /// A path from the root: `::a::b`.
    fn path(&mut self, parts: &[&str]) -> &mut Tokens {
        for part in parts {
            for spacing in [Spacing::Joint, Spacing::Alone] {
                let mut punct = Punct::new(':', spacing);
                punct.set_span(self.span);
                self.add([TokenTree::Punct(punct)]);
            }
            self.ident(part);
        }
        self
    }

    fn group(
        &mut self,
        delimiter: Delimiter,
        inside: impl FnOnce(&mut Tokens) -> &mut Tokens,
    ) -> &mut Tokens {
        let mut tokens = Tokens::at(self.span);
        inside(&mut tokens);
        let mut group = Group::new(delimiter, tokens.stream);
        group.set_span(self.span);
        self.add([TokenTree::Group(group)])
    }

    /// A call of a macro without arguments, from `core`.
    fn macro_call(&mut self, name: &str) -> &mut Tokens {
        self.path(&["core", name]).punct('!').group(Delimiter::Parenthesis, |inside| inside)
    }
}
