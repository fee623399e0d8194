//! Classes and traits.

use mazurka_syntax::{Diagnostic, Parsed, RecursiveDescent, Reported};

use super::Parser;
use crate::language::ast::{
    Block, ClassDecl, Declaration, FieldDecl, MethodDecl, MethodSet, Signature, TraitExpr, TraitOperation,
};
use crate::language::lexer::Token;
use crate::model::Span;

/// What stands in a class.
enum Member<'a> {
    Field(FieldDecl<'a>),
    Init(Block<'a>),
    Uses(TraitExpr<'a>),
    Method(MethodDecl<'a>),
    Refused,
}

impl<'a> Parser<'a> {
    /// Members up to the `}`, which is taken too; those that are wrong are left out, up to a `;` or where
    /// `stops` says.
    pub(super) fn members<T>(
        &mut self,
        open: Span,
        stops: impl Fn(&Self) -> bool + Copy,
        mut member: impl FnMut(&mut Self) -> Parsed<T>,
    ) -> Parsed<Vec<T>> {
        let mut members = Vec::new();
        while !self.eat(Token::CloseBrace) {
            if self.at(Token::End) || self.at_top_level_word() {
                return Err(self.unclosed(open));
            }
            let position = self.position();
            match member(self) {
                Ok(member) => members.push(member),
                Err(Reported) => self.synchronise(position, stops),
            }
        }
        Ok(members)
    }

    /// `T m(U x)`
    pub(super) fn signature(&mut self) -> Parsed<Signature<'a>> {
        let annotations = self.annotations()?;
        let result = self.type_use()?;
        let name = self.name("the name of a method")?;
        let parameters = self.parameters()?;
        Ok(Signature { annotations, result, name, parameters })
    }

    pub(super) fn class(&mut self) -> Parsed<Declaration<'a>> {
        let start = self.bump().start;
        let name = self.type_name("the name of a class")?;
        let parameters = if self.at(Token::OpenParen) { self.parameters()? } else { Vec::new() };
        let implements = match self.eat_word("implements") {
            true => self.several(|parser| parser.type_path("the name of an interface"))?,
            false => Vec::new(),
        };
        let span = self.since(start);
        let help = match self.word() {
            "extends" => Some("classes don't extend each other; they implement interfaces and use traits"),
            _ => None,
        };
        let open = self.expect(Token::OpenBrace, help)?;
        let members = self.members(open, |_| false, Self::member)?;
        let mut class = ClassDecl {
            name,
            parameters,
            implements,
            fields: Vec::new(),
            init: None,
            uses: Vec::new(),
            methods: Vec::new(),
            span,
        };
        for member in members {
            self.add_member(&mut class, member);
        }
        Ok(Declaration::Class(class))
    }

    fn add_member(&mut self, class: &mut ClassDecl<'a>, member: Member<'a>) {
        match member {
            Member::Field(field) => class.fields.push(field),
            Member::Uses(traits) => class.uses.push(traits),
            Member::Method(method) => class.methods.push(method),
            Member::Refused => {}
            Member::Init(block) => match &class.init {
                None => class.init = Some(block),
                Some(first) => {
                    let diagnostic = Diagnostic::new(block.span, "the class has a second init block");
                    self.report_apart(diagnostic.also(first.span, "the first one"));
                }
            },
        }
    }

    fn member(&mut self) -> Parsed<Member<'a>> {
        if self.at(Token::OpenBrace) {
            return Ok(Member::Init(self.block()?));
        }
        if self.at_word("recover") && self.peek_at(1) == Token::OpenBrace {
            let span = self.span();
            self.refuse(span, "recovery blocks (`recover`)");
            self.bump();
            let open = self.bump();
            self.skip_block(open)?;
            return Ok(Member::Refused);
        }
        if self.eat_word("uses") {
            let traits = self.trait_expr()?;
            self.semicolon()?;
            return Ok(Member::Uses(traits));
        }
        let annotations = self.annotations()?;
        let start = self.span().start;
        let ty = self.type_use()?;
        let name = self.name("the name of a field or a method")?;
        if self.at(Token::OpenParen) {
            let signature = Signature { annotations, result: ty, name, parameters: self.parameters()? };
            return Ok(Member::Method(self.method_body(start, signature)?));
        }
        let value = if self.eat(Token::Assign) { Some(self.expr()?) } else { None };
        let span = self.since(start);
        self.semicolon()?;
        Ok(Member::Field(FieldDecl { ty, name, value, span }))
    }

    /// Goes on behind the `}` of a block that is not looked into.
    fn skip_block(&mut self, open: Span) -> Parsed<()> {
        let mut depth = 1usize;
        while depth > 0 {
            match self.peek() {
                Token::End => return Err(self.unclosed(open)),
                Token::OpenBrace => depth += 1,
                Token::CloseBrace => depth -= 1,
                _ => {}
            }
            self.bump();
        }
        Ok(())
    }

    fn method_body(&mut self, start: u32, signature: Signature<'a>) -> Parsed<MethodDecl<'a>> {
        let span = self.since(start);
        if self.at(Token::Semicolon) {
            let help = "a method of a class has a body: `Unit m() { skip; }`";
            return Err(self.expected("`{`", Some(help)));
        }
        let body = self.block()?;
        Ok(MethodDecl { signature, body, span })
    }

    fn method(&mut self) -> Parsed<MethodDecl<'a>> {
        let annotations = self.annotations()?;
        let start = self.span().start;
        let signature = Signature { annotations, ..self.signature()? };
        self.method_body(start, signature)
    }

    pub(super) fn trait_declaration(&mut self) -> Parsed<Declaration<'a>> {
        self.bump();
        let name = self.type_name("the name of a trait")?;
        self.expect(Token::Assign, Some("a trait is written `trait T = { Unit m() { .. } }`"))?;
        let expr = self.trait_expr()?;
        self.eat(Token::Semicolon);
        Ok(Declaration::Trait(name, expr))
    }

    fn trait_expr(&mut self) -> Parsed<TraitExpr<'a>> {
        let base = self.method_set()?;
        let mut operations = Vec::new();
        loop {
            let operation = match () {
                () if self.eat_word("adds") => TraitOperation::Adds(self.method_set()?),
                () if self.eat_word("modifies") => TraitOperation::Modifies(self.method_set()?),
                () if self.eat_word("removes") => TraitOperation::Removes(self.removed()?),
                () => return Ok(TraitExpr { base, operations }),
            };
            operations.push(operation);
        }
    }

    fn method_set(&mut self) -> Parsed<MethodSet<'a>> {
        if self.at(Token::OpenBrace) {
            let open = self.bump();
            return self.members(open, |_| false, Self::method).map(MethodSet::Methods);
        }
        if self.declares(0) && !self.at_operation_after_name() {
            return Ok(MethodSet::Methods(vec![self.method()?]));
        }
        self.type_path("the name of a trait or a method").map(MethodSet::Named)
    }

    /// Whether `T adds ..` stands here, and no method of type `T`.
    fn at_operation_after_name(&self) -> bool {
        let mut at = 0;
        while self.peek_at(at + 1) == Token::Dot {
            at += 2;
        }
        matches!(self.word_at(at + 1), "adds" | "modifies" | "removes" | "trait")
            && self.word_at(at + 2) != "("
    }

    fn removed(&mut self) -> Parsed<Vec<Signature<'a>>> {
        let element = |parser: &mut Self| {
            let signature = parser.signature()?;
            parser.semicolon()?;
            Ok(signature)
        };
        if self.at(Token::OpenBrace) {
            let open = self.bump();
            return self.members(open, |_| false, element);
        }
        let signature = self.signature()?;
        // Its `;` is also that of what it stands in, unless more follows.
        if self.at(Token::Semicolon) && matches!(self.word_at(1), "adds" | "modifies" | "removes" | ";") {
            self.bump();
        }
        Ok(vec![signature])
    }
}
