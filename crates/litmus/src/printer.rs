//! A syntax tree into text: what is printed is read back as the same tree.
//!
//! Parentheses stand only where the tree needs them. One place is subtle: the parser reads `-5` as a number,
//! so the negation of the number 5 is printed `-(5)`.

use std::fmt::{self, Write};

use crate::ast::{
    Arm, AssignOp, Ast, BinaryOp, Block, CommuteDecl, Component, Dest, Expr, ExprKind, Init, Item, Name,
    ObjectDecl, Pattern, Range, Stmt, StmtKind, Target, UnaryOp, VarDecl,
};
use crate::parser::{is_comparison, precedence};

/// How long the one-line rendering of a block may get.
const HEAD_WIDTH: usize = 60;
/// Binds more strongly than every operator between two operands.
const UNARY: u8 = 7;

/// A program as a file.
pub fn print(ast: &Ast) -> String {
    let mut out = String::new();
    let mut after_body = false;
    for (index, item) in ast.items.iter().enumerate() {
        let has_body = matches!(item, Item::Process(_) | Item::Task(_));
        if index > 0 && (has_body || after_body) {
            out.push('\n');
        }
        after_body = has_body;
        print_item(&mut out, item);
    }
    out
}

/// An expression.
pub fn print_expr(expr: &Expr) -> String {
    expr.to_string()
}

/// A statement on one line, without `;` and without what its blocks say: `x = r + 1`, `if x == 0`. Only of an
/// atomic block, which is one step, the statements are shown as far as there is room.
pub fn print_stmt_head(stmt: &Stmt) -> String {
    match &stmt.kind {
        StmtKind::Atomic { name, body } => {
            // For a separator on either side, dots and the end.
            const ROOM: usize = "; ; ... }".len();
            let mut out = format!("atomic{} {{", Named(name.as_ref()));
            for (index, stmt) in body.statements.iter().enumerate() {
                let head = print_stmt_head(stmt);
                let dots = if has_blocks(stmt) { " {...}" } else { "" };
                let separator = if index > 0 { "; " } else { " " };
                if out.len() + head.len() + dots.len() + ROOM > HEAD_WIDTH {
                    let _ = write!(out, "{separator}...");
                    break;
                }
                let _ = write!(out, "{separator}{head}{dots}");
            }
            out + " }"
        }
        StmtKind::Receive { arms, timeout } if !is_plain_receive(arms, timeout.as_ref()) => {
            let mut patterns: Vec<String> = arms.iter().map(|arm| arm.pattern.to_string()).collect();
            patterns.extend(timeout.iter().map(|_| "timeout".to_string()));
            format!("receive {{ {} }}", patterns.join(" | "))
        }
        kind => Head(kind).to_string(),
    }
}

/// Whether its head leaves out blocks.
fn has_blocks(stmt: &Stmt) -> bool {
    matches!(stmt.kind, StmtKind::If { .. } | StmtKind::While { .. } | StmtKind::For { .. })
}

/// Whether it is of the form `receive p;`.
fn is_plain_receive(arms: &[Arm], timeout: Option<&Block>) -> bool {
    matches!(arms, [arm] if arm.body.statements.is_empty()) && timeout.is_none()
}

fn print_item(out: &mut String, item: &Item) {
    let _ = match item {
        Item::Param(name, value) => writeln!(out, "param {} = {};", name.text, value),
        Item::Const(name, value) => writeln!(out, "const {} = {};", name.text, value),
        Item::Var(vars) => writeln!(out, "var {};", Commas(vars)),
        Item::Lock(locks) => writeln!(out, "lock {};", Commas(locks)),
        Item::Condvar(condvars) => writeln!(out, "condvar {};", Commas(condvars)),
        Item::Commute(declared) => writeln!(out, "{};", print_commute(declared)),
        Item::Process(process) => {
            let _ = write!(out, "process {}", process.name.text);
            if let Some((index, range)) = &process.family {
                let _ = write!(out, "[{} in {range}]", index.text);
            }
            print_block(out, &process.body, 0);
            writeln!(out)
        }
        Item::Task(task) => {
            let params: Vec<&str> = task.params.iter().map(|param| param.text.as_str()).collect();
            let _ = write!(out, "task {}({})", task.name.text, params.join(", "));
            print_block(out, &task.body, 0);
            writeln!(out)
        }
    };
}

/// A declared constraint, without `;`.
pub(crate) fn print_commute(declared: &CommuteDecl) -> String {
    let [first, second] = &declared.blocks;
    let condition = declared.condition.as_ref().map_or(String::new(), |condition| format!(" if {condition}"));
    format!("commute {}, {}{condition}", first.text, second.text)
}

/// A block after the head on the same line, up to its closing brace.
fn print_block(out: &mut String, block: &Block, depth: usize) {
    if block.statements.is_empty() {
        out.push_str(" {}");
        return;
    }
    out.push_str(" {\n");
    for stmt in &block.statements {
        print_stmt(out, stmt, depth + 1);
    }
    indent(out, depth);
    out.push('}');
}

fn indent(out: &mut String, depth: usize) {
    for _ in 0..depth {
        out.push_str("    ");
    }
}

fn print_stmt(out: &mut String, stmt: &Stmt, depth: usize) {
    indent(out, depth);
    let _ = write!(out, "{}", Head(&stmt.kind));
    match &stmt.kind {
        StmtKind::While { body, .. } | StmtKind::For { body, .. } | StmtKind::Atomic { body, .. } => {
            print_block(out, body, depth);
        }
        StmtKind::If { arms, otherwise } => {
            for (index, (condition, body)) in arms.iter().enumerate() {
                if index > 0 {
                    let _ = write!(out, " else if {}", condition);
                }
                print_block(out, body, depth);
            }
            if let Some(body) = otherwise {
                out.push_str(" else");
                print_block(out, body, depth);
            }
        }
        StmtKind::Receive { arms, timeout } if !is_plain_receive(arms, timeout.as_ref()) => {
            print_arms(out, arms, timeout.as_ref(), depth);
        }
        _ => out.push(';'),
    }
    out.push('\n');
}

fn print_arms(out: &mut String, arms: &[Arm], timeout: Option<&Block>, depth: usize) {
    out.push_str(" {\n");
    for arm in arms {
        indent(out, depth + 1);
        let _ = write!(out, "{} =>", arm.pattern);
        print_block(out, &arm.body, depth + 1);
        out.push('\n');
    }
    if let Some(block) = timeout {
        indent(out, depth + 1);
        out.push_str("timeout =>");
        print_block(out, block, depth + 1);
        out.push('\n');
    }
    indent(out, depth);
    out.push('}');
}

/// A statement up to its `;` or its first block.
struct Head<'a>(&'a StmtKind);

impl fmt::Display for Head<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            StmtKind::Let { name, value } => write!(f, "let {} = {}", name.text, value),
            StmtKind::Assign { target, op, value } => write!(f, "{target} {op} {}", value),
            StmtKind::FetchAdd { dest, target, value } => write!(f, "{dest}fetch_add({target}, {})", value),
            StmtKind::Swap { dest, target, value } => write!(f, "{dest}swap({target}, {})", value),
            StmtKind::Cas { dest, target, old, new } => {
                write!(f, "{dest}cas({target}, {}, {})", old, new)
            }
            StmtKind::Lock(lock) => write!(f, "lock({lock})"),
            StmtKind::Unlock(lock) => write!(f, "unlock({lock})"),
            StmtKind::TryLock { dest, lock } => write!(f, "{dest}try_lock({lock})"),
            StmtKind::Wait { condvar, lock } => write!(f, "wait({condvar}, {lock})"),
            StmtKind::NotifyOne(condvar) => write!(f, "notify_one({condvar})"),
            StmtKind::NotifyAll(condvar) => write!(f, "notify_all({condvar})"),
            StmtKind::Await(condition) => write!(f, "await {}", condition),
            StmtKind::Spawn { dest, task, args } => write!(f, "{dest}spawn {}({})", task.text, Commas(args)),
            StmtKind::Join(process) => write!(f, "join({process})"),
            StmtKind::Send { to, message } => match message.as_slice() {
                [value] => write!(f, "send({to}, {})", value),
                values => write!(f, "send({to}, ({}))", Commas(values)),
            },
            StmtKind::Receive { arms, timeout } if is_plain_receive(arms, timeout.as_ref()) => {
                write!(f, "receive {}", arms[0].pattern)
            }
            StmtKind::Receive { .. } => f.write_str("receive"),
            StmtKind::Choose { dest, count } => write!(f, "{dest}choose({})", count),
            StmtKind::Assert { condition, message } => {
                write!(f, "assert {}", condition)?;
                message.as_ref().map_or(Ok(()), |message| write!(f, ", {}", Quoted(message)))
            }
            StmtKind::Assume(condition) => write!(f, "assume {}", condition),
            StmtKind::Skip => f.write_str("skip"),
            StmtKind::If { arms, .. } => {
                f.write_str("if")?;
                arms.first().map_or(Ok(()), |(condition, _)| write!(f, " {}", condition))
            }
            StmtKind::While { condition, .. } => write!(f, "while {}", condition),
            StmtKind::For { index, range, .. } => write!(f, "for {} in {range}", index.text),
            StmtKind::Break => f.write_str("break"),
            StmtKind::Continue => f.write_str("continue"),
            StmtKind::Atomic { name, .. } => write!(f, "atomic{}", Named(name.as_ref())),
        }
    }
}

/// The name of an atomic block behind its word, if it has one.
struct Named<'a>(Option<&'a Name>);

impl fmt::Display for Named<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.map_or(Ok(()), |name| write!(f, " {}", name.text))
    }
}

/// An expression as an operand of an operator of this strength or on the right of a weaker one.
struct Operand<'a>(&'a Expr, u8);

impl fmt::Display for Operand<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0.kind {
            ExprKind::Number(value) => write!(f, "{value}"),
            ExprKind::Name(name) => f.write_str(&name.text),
            ExprKind::Cell(name, index) => write!(f, "{}[{}]", name.text, index),
            ExprKind::Unary(op, operand) => {
                let sign = match op {
                    UnaryOp::Neg => '-',
                    UnaryOp::Not => '!',
                };
                let apart = match &operand.kind {
                    ExprKind::Number(_) | ExprKind::Unary(UnaryOp::Neg, _) => *op == UnaryOp::Neg,
                    _ => false,
                };
                if apart {
                    write!(f, "{sign}({})", operand)
                } else {
                    write!(f, "{sign}{}", Operand(operand, UNARY))
                }
            }
            ExprKind::Binary(op, left, right) => {
                let strength = precedence(*op);
                let (open, close) = if strength < self.1 { ("(", ")") } else { ("", "") };
                let leftmost = if is_comparison(*op) { strength + 1 } else { strength };
                write!(f, "{open}{} {op} {}{close}", Operand(left, leftmost), Operand(right, strength + 1))
            }
        }
    }
}

impl fmt::Display for Expr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Operand(self, 0).fmt(f)
    }
}

impl fmt::Display for BinaryOp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            BinaryOp::Or => "||",
            BinaryOp::And => "&&",
            BinaryOp::Eq => "==",
            BinaryOp::Ne => "!=",
            BinaryOp::Lt => "<",
            BinaryOp::Le => "<=",
            BinaryOp::Gt => ">",
            BinaryOp::Ge => ">=",
            BinaryOp::Add => "+",
            BinaryOp::Sub => "-",
            BinaryOp::Mul => "*",
            BinaryOp::Div => "/",
            BinaryOp::Rem => "%",
        })
    }
}

impl fmt::Display for AssignOp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            AssignOp::Set => "=",
            AssignOp::Add => "+=",
            AssignOp::Sub => "-=",
        })
    }
}

/// With the `=` and the blank after it, if there is one.
impl fmt::Display for Dest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Dest::None => Ok(()),
            Dest::Let(name) => write!(f, "let {} = ", name.text),
            Dest::Local(name) => write!(f, "{} = ", name.text),
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.name.text, Index(self.index.as_ref()))
    }
}

impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let dots = if self.inclusive { "..=" } else { ".." };
        write!(f, "{}{dots}{}", self.from, self.to)
    }
}

impl fmt::Display for ObjectDecl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.name.text, Index(self.size.as_ref()))
    }
}

impl fmt::Display for VarDecl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.name.text, Index(self.size.as_ref()))?;
        match &self.init {
            Init::Zero => Ok(()),
            Init::All(value) => write!(f, " = {value}"),
            Init::Each(values) => write!(f, " = [{}]", Commas(values)),
        }
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Pattern::Any => f.write_str("_"),
            Pattern::Tuple(components) => match components.as_slice() {
                [component] if *component != Component::Any => write!(f, "{component}"),
                components => write!(f, "({})", Commas(components)),
            },
        }
    }
}

impl fmt::Display for Component {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Component::Equal(value) => write!(f, "{value}"),
            Component::Bind(name) => write!(f, "?{}", name.text),
            Component::Any => f.write_str("_"),
        }
    }
}

struct Index<'a>(Option<&'a Expr>);

impl fmt::Display for Index<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.map_or(Ok(()), |index| write!(f, "[{index}]"))
    }
}

struct Commas<'a, T>(&'a [T]);

impl<T: fmt::Display> fmt::Display for Commas<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, element) in self.0.iter().enumerate() {
            let comma = if index > 0 { ", " } else { "" };
            write!(f, "{comma}{element}")?;
        }
        Ok(())
    }
}

struct Quoted<'a>(&'a str);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_char('"')?;
        for character in self.0.chars() {
            match character {
                '"' => f.write_str("\\\"")?,
                '\\' => f.write_str("\\\\")?,
                '\n' => f.write_str("\\n")?,
                other => f.write_char(other)?,
            }
        }
        f.write_char('"')
    }
}
