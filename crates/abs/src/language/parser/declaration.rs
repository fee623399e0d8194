//! Files, modules and what they declare, but for classes.

use mazurka_syntax::{Diagnostic, Parsed, RecursiveDescent, Reported};

use super::Parser;
use crate::language::ast::{
    Clause, ConstructorDecl, DataDecl, Declaration, FunctionDecl, InterfaceDecl, Module, Name, Path,
};
use crate::language::lexer::Token;
use crate::language::refuse;
use crate::language::suggest::did_you_mean;

/// The words that begin declarations.
const DECLARATIONS: &[&str] =
    &["module", "import", "export", "data", "type", "exception", "def", "interface", "class", "trait"];

impl<'a> Parser<'a> {
    pub(super) fn file(&mut self) -> Vec<Module<'a>> {
        let mut modules: Vec<Module<'a>> = Vec::new();
        while !self.at(Token::End) {
            let position = self.position();
            match self.item(&mut modules) {
                Ok(()) => {}
                Err(Reported) => {
                    self.synchronise(position, Self::at_declaration);
                    // A `}` that closes nothing.
                    if self.position() == position || self.at(Token::CloseBrace) {
                        self.bump();
                    }
                }
            }
        }
        if modules.is_empty() && self.is_clean() {
            let diagnostic =
                Diagnostic::new(self.span(), "the file declares no module").label("nothing is declared");
            self.report(diagnostic.help("a file begins with `module M;`"));
        }
        modules
    }

    /// Whether a declaration begins here.
    fn at_declaration(&self) -> bool {
        self.at_top_level_word()
            || matches!(self.peek(), Token::Type | Token::Exception)
            || (self.at(Token::Name) && (self.at_word("trait") || refuse::declaration(self.word()).is_some()))
    }

    fn item(&mut self, modules: &mut Vec<Module<'a>>) -> Parsed<()> {
        if self.at(Token::Module) {
            modules.push(self.module()?);
            return Ok(());
        }
        if self.refused_declaration() {
            return Ok(());
        }
        if modules.is_empty() {
            let help = "a file begins with `module M;`";
            let reported = self.expected("`module`", Some(help));
            // What follows is read as if it were of a module, so that its errors are reported too.
            modules.push(self.nameless());
            return Err(reported);
        }
        let Some(module) = modules.last_mut() else { return Ok(()) };
        self.annotations()?;
        match self.peek() {
            Token::Import => module.imports.push(self.import()?),
            Token::Export => module.exports.push(self.export()?),
            Token::OpenBrace => {
                let block = self.block()?;
                if let Some(first) = &module.main {
                    let diagnostic = Diagnostic::new(block.span, "the module has a second main block");
                    self.report_apart(diagnostic.also(first.span, "the first one"));
                    return Ok(());
                }
                module.main = Some(block);
            }
            _ => {
                let declaration = self.declaration()?;
                module.declarations.push(declaration);
            }
        }
        Ok(())
    }

    /// Stands for a module that is missing, which has been reported.
    fn nameless(&self) -> Module<'a> {
        let name = Name { text: "", span: self.span() };
        let name = Path { qualifier: None, name, span: self.span() };
        Module { name, exports: Vec::new(), imports: Vec::new(), declarations: Vec::new(), main: None }
    }

    fn module(&mut self) -> Parsed<Module<'a>> {
        self.bump();
        let name = self.type_path("the name of a module")?;
        self.semicolon()?;
        Ok(Module { name, exports: Vec::new(), imports: Vec::new(), declarations: Vec::new(), main: None })
    }

    /// What begins here, if it belongs to product lines.
    fn refused_here(&self) -> Option<&'static str> {
        refuse::declaration(self.word()).filter(|_| self.at(Token::Name))
    }

    /// Reports what belongs to product lines, and goes on behind all of it: at the next module.
    fn refused_declaration(&mut self) -> bool {
        let Some(what) = self.refused_here() else { return false };
        let span = self.span();
        self.refuse(span, what);
        self.bump();
        while !self.at(Token::End) && !self.at(Token::Module) {
            // Each kind of thing is said once.
            if self.refused_here().is_some_and(|next| next != what) {
                break;
            }
            self.bump();
        }
        true
    }

    fn export(&mut self) -> Parsed<Clause<'a>> {
        self.bump();
        let names = self.clause_names()?;
        let from = if self.eat_word("from") { Some(self.type_path("the name of a module")?) } else { None };
        self.semicolon()?;
        Ok(Clause { names, from })
    }

    fn import(&mut self) -> Parsed<Clause<'a>> {
        self.bump();
        let names = self.clause_names()?;
        if self.eat_word("from") {
            let from = Some(self.type_path("the name of a module")?);
            self.semicolon()?;
            return Ok(Clause { names, from });
        }
        let unqualified = match &names {
            None => true,
            Some(names) => names.iter().any(|name| name.qualifier.is_none()),
        };
        if unqualified {
            let help = "write `import * from M;`, `import x from M;` or `import M.x;`";
            return Err(self.expected("`from`", Some(help)));
        }
        self.semicolon()?;
        Ok(Clause { names, from: None })
    }

    fn clause_names(&mut self) -> Parsed<Option<Vec<Path<'a>>>> {
        if self.eat(Token::Star) {
            return Ok(None);
        }
        self.several(|parser| parser.any_path("a name or `*`")).map(Some)
    }

    fn declaration(&mut self) -> Parsed<Declaration<'a>> {
        match self.peek() {
            Token::Data => self.data(),
            Token::Type => self.synonym(),
            Token::Exception => self.exception(),
            Token::Def => self.function_declaration(),
            Token::Interface => self.interface(),
            Token::Class => self.class(),
            Token::Name if self.at_word("trait") => self.trait_declaration(),
            _ => {
                let word = self.word();
                let help = did_you_mean(word, DECLARATIONS.iter().copied());
                let help = help.or_else(|| match self.peek() {
                    Token::TypeName => Some(
                        "variables are declared in classes and blocks; functions begin with `def`".into(),
                    ),
                    _ => None,
                });
                Err(self.expected("a declaration or a main block", help.as_deref()))
            }
        }
    }

    fn type_parameters(&mut self) -> Parsed<Vec<Name<'a>>> {
        match self.eat(Token::Less) {
            true => self.list(Token::Greater, |parser| parser.type_name("a type parameter")),
            false => Ok(Vec::new()),
        }
    }

    fn data(&mut self) -> Parsed<Declaration<'a>> {
        self.bump();
        let name = self.type_name("the name of a data type")?;
        let parameters = self.type_parameters()?;
        let mut constructors = Vec::new();
        if self.eat(Token::Assign) {
            constructors.push(self.constructor()?);
            while self.eat(Token::Bar) {
                constructors.push(self.constructor()?);
            }
        }
        self.semicolon()?;
        Ok(Declaration::Data(DataDecl { name, parameters, constructors }))
    }

    fn constructor(&mut self) -> Parsed<ConstructorDecl<'a>> {
        let name = self.type_name("a constructor")?;
        let arguments = match self.eat(Token::OpenParen) {
            true => self.list(Token::CloseParen, |parser| {
                let ty = parser.type_use()?;
                let named = parser.at(Token::Name) || parser.at_late_word();
                Ok((ty, if named { Some(parser.name("a name")?) } else { None }))
            })?,
            false => Vec::new(),
        };
        Ok(ConstructorDecl { name, arguments })
    }

    fn synonym(&mut self) -> Parsed<Declaration<'a>> {
        self.bump();
        let name = self.type_name("the name of a type")?;
        self.expect(Token::Assign, Some("a type synonym is written `type T = ..;`"))?;
        let ty = self.type_use()?;
        self.semicolon()?;
        Ok(Declaration::Synonym(name, ty))
    }

    fn exception(&mut self) -> Parsed<Declaration<'a>> {
        self.bump();
        let exception = self.constructor()?;
        self.semicolon()?;
        Ok(Declaration::Exception(exception))
    }

    fn function_declaration(&mut self) -> Parsed<Declaration<'a>> {
        let start = self.bump().start;
        let result = self.type_use()?;
        let name = self.name("the name of a function")?;
        let type_parameters = self.type_parameters()?;
        let functions = self.function_names()?;
        let parameters = self.parameters()?;
        let span = self.since(start);
        self.expect(Token::Assign, Some("a function is written `def T f(U x) = e;`"))?;
        let body = if self.at(Token::Builtin) {
            let at = self.bump();
            if self.at(Token::OpenParen) {
                return Err(self.refuse(at, "SQL queries and other parametric builtins (`builtin(..)`)"));
            }
            None
        } else if self.at(Token::OpenBrace) {
            let help = "the body of a function is an expression; statements belong into methods";
            return Err(self.expected("an expression", Some(help)));
        } else {
            Some(self.expr()?)
        };
        self.semicolon()?;
        let function = FunctionDecl { result, name, type_parameters, functions, parameters, body, span };
        Ok(Declaration::Function(function))
    }

    /// The first parentheses of a function that takes functions: `(f, g)(List<A> l)`.
    fn function_names(&mut self) -> Parsed<Option<Vec<Name<'a>>>> {
        let empty = self.peek_at(1) == Token::CloseParen && self.peek_at(2) == Token::OpenParen;
        if !self.at(Token::OpenParen) || !(self.peek_at(1) == Token::Name || empty) {
            return Ok(None);
        }
        self.bump();
        self.list(Token::CloseParen, |parser| parser.name("the name of a function")).map(Some)
    }

    fn interface(&mut self) -> Parsed<Declaration<'a>> {
        self.bump();
        let name = self.type_name("the name of an interface")?;
        let extends = match self.eat_word("extends") {
            true => self.several(|parser| parser.type_path("the name of an interface"))?,
            false => Vec::new(),
        };
        let open = self.expect(Token::OpenBrace, None)?;
        let methods = self.members(
            open,
            |_| false,
            |parser| {
                let signature = parser.signature()?;
                if let Some(commutes) = signature.annotations.commutes.first() {
                    let message = "what a method commutes with is said where it has a body";
                    let diagnostic = Diagnostic::new(commutes.with.span, message);
                    parser.report(diagnostic.help("move the annotation to the method of the class"));
                }
                if parser.at(Token::OpenBrace) {
                    let help = "an interface only names methods; classes have their bodies";
                    return Err(parser.expected("`;`", Some(help)));
                }
                parser.semicolon()?;
                Ok(signature)
            },
        )?;
        Ok(Declaration::Interface(InterfaceDecl { name, extends, methods }))
    }
}
