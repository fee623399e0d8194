//! Types, and what is known about those that are not written.
//!
//! Every variable of a program has a declared type; only the type arguments of polymorphic functions and
//! constructors are inferred. They stand as [`Type::Meta`], with a lower bound (what has flowed into it) and
//! an upper bound (what it must flow into). Data types are covariant, as their values never change.
//! `Type::Error` goes with everything, so that one error is reported once.

use crate::model::{ClassId, InterfaceId};

use super::world::{DataId, World};

/// Parts of a type. A larger one is an error of the program: types double with each step of some programs.
pub(crate) const LARGEST: usize = 2000;

/// A type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Type {
    /// Of what was reported already.
    Error,
    /// Of `null`.
    Null,
    /// A type parameter of the function or data type at hand.
    Variable(u32),
    /// Not known yet.
    Meta(u32),
    Data(DataId, Vec<Type>),
    Interface(InterfaceId),
    /// Of `this` and of `new`.
    Class(ClassId),
}

/// The type of a function that is passed.
#[derive(Clone, Debug)]
pub(crate) struct FunctionType {
    pub(crate) parameters: Vec<Type>,
    pub(crate) result: Type,
}

impl Type {
    /// The type with its type parameters replaced; none if that is too large.
    pub(crate) fn substitute(&self, arguments: &[Type]) -> Option<Type> {
        self.substitute_within(arguments, &mut 0)
    }

    fn substitute_within(&self, arguments: &[Type], size: &mut usize) -> Option<Type> {
        *size += 1;
        if *size > LARGEST {
            return None;
        }
        Some(match self {
            Type::Variable(index) => match arguments.get(*index as usize) {
                Some(argument) => {
                    *size += argument.size();
                    argument.clone()
                }
                None => Type::Error,
            },
            Type::Data(data, inner) => {
                let inner = inner.iter().map(|part| part.substitute_within(arguments, size));
                Type::Data(*data, inner.collect::<Option<_>>()?)
            }
            other => other.clone(),
        })
    }

    /// How many parts it has.
    pub(crate) fn size(&self) -> usize {
        match self {
            Type::Data(_, arguments) => 1 + arguments.iter().map(Type::size).sum::<usize>(),
            _ => 1,
        }
    }

    pub(crate) fn is_error(&self) -> bool {
        *self == Type::Error
    }

    /// Whether its values are objects.
    pub(crate) fn is_reference(&self) -> bool {
        matches!(self, Type::Interface(_) | Type::Class(_) | Type::Null)
    }
}

/// What is known of a meta variable.
#[derive(Clone, Debug)]
enum MetaVariable {
    Bounds { lower: Option<Type>, upper: Option<Type> },
    Same(Type),
}

/// What is known of all meta variables of a body.
#[derive(Debug, Default)]
pub(crate) struct Inference {
    metas: Vec<MetaVariable>,
}

impl Inference {
    pub(crate) fn fresh(&mut self) -> Type {
        self.metas.push(MetaVariable::Bounds { lower: None, upper: None });
        Type::Meta(self.metas.len() as u32 - 1)
    }

    pub(crate) fn fresh_list(&mut self, count: usize) -> Vec<Type> {
        (0..count).map(|_| self.fresh()).collect()
    }

    /// The type behind links of meta variables; a meta variable stays one.
    fn head(&self, ty: &Type) -> Type {
        let mut ty = ty;
        while let Type::Meta(meta) = ty {
            match &self.metas[*meta as usize] {
                MetaVariable::Same(other) => ty = other,
                MetaVariable::Bounds { .. } => break,
            }
        }
        ty.clone()
    }

    /// The best that is known of a type: each meta variable is its lower bound, else its upper one. None if
    /// too large.
    pub(crate) fn resolve(&self, ty: &Type) -> Option<Type> {
        self.resolve_within(ty, &mut 0)
    }

    fn resolve_within(&self, ty: &Type, size: &mut usize) -> Option<Type> {
        *size += 1;
        if *size > LARGEST {
            return None;
        }
        match ty {
            Type::Meta(meta) => match &self.metas[*meta as usize] {
                MetaVariable::Same(other) => self.resolve_within(other, size),
                MetaVariable::Bounds { lower: Some(bound), .. }
                | MetaVariable::Bounds { upper: Some(bound), .. } => self.resolve_within(bound, size),
                MetaVariable::Bounds { .. } => Some(ty.clone()),
            },
            Type::Data(data, arguments) => {
                let arguments = arguments.iter().map(|argument| self.resolve_within(argument, size));
                Some(Type::Data(*data, arguments.collect::<Option<_>>()?))
            }
            other => Some(other.clone()),
        }
    }

    fn bounds(&self, meta: u32) -> (Option<Type>, Option<Type>) {
        match &self.metas[meta as usize] {
            MetaVariable::Bounds { lower, upper } => (lower.clone(), upper.clone()),
            MetaVariable::Same(_) => (None, None),
        }
    }

    fn set(&mut self, meta: u32, lower: Option<Type>, upper: Option<Type>) {
        self.metas[meta as usize] = MetaVariable::Bounds { lower, upper };
    }

    /// Whether values of one type are values of the other; what is not known yet becomes so that they are, if
    /// possible.
    pub(crate) fn sub(&mut self, world: &World, a: &Type, b: &Type) -> bool {
        match (self.head(a), self.head(b)) {
            (Type::Error, _) | (_, Type::Error) => true,
            (Type::Meta(a), Type::Meta(b)) if a == b => true,
            (Type::Meta(a), Type::Meta(b)) => self.sub_metas(world, a, b),
            (a, Type::Meta(b)) => self.add_lower(world, a, b),
            (Type::Meta(a), b) => self.add_upper(world, a, b),
            (Type::Null, Type::Null | Type::Interface(_) | Type::Class(_)) => true,
            (Type::Null, Type::Data(data, _)) => data == world.basics.fut,
            (Type::Data(a, inner_a), Type::Data(b, inner_b)) => {
                if a != b {
                    return a == world.basics.int && b == world.basics.rat;
                }
                inner_a.iter().zip(&inner_b).all(|(a, b)| self.sub(world, a, b))
            }
            (Type::Interface(a), Type::Interface(b)) => world.extends(a, b),
            (Type::Class(a), Type::Interface(b)) => world.implements(a, b),
            (a, b) => a == b,
        }
    }

    fn sub_metas(&mut self, world: &World, a: u32, b: u32) -> bool {
        let (lower, upper) = self.bounds(a);
        if let Some(lower) = lower {
            return self.add_lower(world, lower, b);
        }
        let circle =
            self.occurs(a, &Type::Meta(b)) || upper.as_ref().is_some_and(|upper| self.occurs(b, upper));
        if circle {
            return false;
        }
        self.metas[a as usize] = MetaVariable::Same(Type::Meta(b));
        upper.is_none_or(|upper| self.add_upper(world, b, upper))
    }

    fn add_lower(&mut self, world: &World, ty: Type, meta: u32) -> bool {
        if self.occurs(meta, &ty) {
            return false;
        }
        let (lower, upper) = self.bounds(meta);
        let joined = match &lower {
            None => Some(ty.clone()),
            Some(lower) => self.join(world, lower, &ty),
        };
        let fits = |inference: &mut Inference, ty: &Type| match &upper {
            Some(upper) => inference.sub(world, ty, upper),
            None => true,
        };
        match joined {
            Some(joined) if fits(self, &joined) => {
                self.set(meta, Some(joined), upper);
                true
            }
            _ => {
                // What they have in common is only that they flow there.
                let works = upper.is_some() && fits(self, &ty);
                if works {
                    self.set(meta, upper.clone(), upper);
                }
                works
            }
        }
    }

    fn add_upper(&mut self, world: &World, meta: u32, ty: Type) -> bool {
        if self.occurs(meta, &ty) {
            return false;
        }
        let (lower, upper) = self.bounds(meta);
        if lower.as_ref().is_some_and(|lower| !self.sub(world, lower, &ty)) {
            return false;
        }
        let upper = match upper {
            None => ty,
            Some(upper) if self.sub(world, &upper, &ty) => upper,
            Some(upper) if self.sub(world, &ty, &upper) => ty,
            // Both hold of the lower bound, if there is one.
            Some(upper) if lower.is_some() => upper,
            Some(_) => return false,
        };
        // The comparisons may have said more about it.
        let (lower, _) = self.bounds(meta);
        if let MetaVariable::Bounds { .. } = self.metas[meta as usize] {
            self.set(meta, lower, Some(upper));
        }
        true
    }

    /// Whether a type has the meta variable in it.
    fn occurs(&self, meta: u32, ty: &Type) -> bool {
        self.occurs_within(meta, ty, &mut 0)
    }

    fn occurs_within(&self, meta: u32, ty: &Type, steps: &mut usize) -> bool {
        *steps += 1;
        if *steps > 2 * LARGEST {
            return true;
        }
        match ty {
            Type::Meta(other) if *other == meta => true,
            Type::Meta(other) => match &self.metas[*other as usize] {
                MetaVariable::Same(ty) => self.occurs_within(meta, ty, steps),
                MetaVariable::Bounds { lower, upper } => {
                    let mut inside =
                        |ty: &Option<Type>| ty.as_ref().is_some_and(|ty| self.occurs_within(meta, ty, steps));
                    inside(lower) || inside(upper)
                }
            },
            Type::Data(_, arguments) => {
                arguments.iter().any(|argument| self.occurs_within(meta, argument, steps))
            }
            _ => false,
        }
    }

    /// The least type that has the values of both, if there is one.
    pub(crate) fn join(&mut self, world: &World, a: &Type, b: &Type) -> Option<Type> {
        if let (Type::Data(a, inner_a), Type::Data(b, inner_b)) = (self.head(a), self.head(b))
            && a == b
        {
            let inner = inner_a.iter().zip(&inner_b).map(|(a, b)| self.join(world, a, b));
            return Some(Type::Data(a, inner.collect::<Option<_>>()?));
        }
        if self.sub(world, a, b) {
            return Some(b.clone());
        }
        if self.sub(world, b, a) {
            return Some(a.clone());
        }
        let (a, b) = (self.head(a), self.head(b));
        if !a.is_reference() || !b.is_reference() {
            return None;
        }
        Some(Type::Interface(world.common(&a, &b)))
    }

    /// Lets what is expected of a type say what its meta variables may become. It never fails: whether the
    /// type fits is asked later.
    pub(crate) fn hint(&mut self, world: &World, ty: &Type, expected: &Type) {
        match (self.head(ty), self.head(expected)) {
            (Type::Meta(meta), expected @ (Type::Data(..) | Type::Interface(_) | Type::Variable(_))) => {
                if matches!(self.bounds(meta), (None, None)) {
                    self.add_upper(world, meta, expected);
                }
            }
            (Type::Data(a, inner), Type::Data(b, expected)) if a == b => {
                for (inner, expected) in inner.iter().zip(&expected) {
                    self.hint(world, inner, expected);
                }
            }
            _ => {}
        }
    }
}
