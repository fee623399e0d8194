use super::*;

struct Plain;

impl Names for Plain {
    fn constructor(&self, id: u32) -> &str {
        ["Nil", "Cons", "Apple", "Box", "EmptyMap", "InsertAssoc"][id as usize]
    }
    fn object(&self, object: &Reference) -> String {
        format!("object {}", object.id)
    }
    fn future(&self, future: &Reference) -> String {
        format!("future {}", future.id)
    }
    fn sequences(&self) -> Sequences {
        Sequences { list: (0, 1), map: (4, 5) }
    }
}

/// Constructors in the order of names: Apple, Box, Cons, EmptyMap, InsertAssoc, Nil.
fn tag(id: u32) -> Tag {
    Tag { rank: [5, 2, 0, 1, 3, 4][id as usize], id }
}

fn list(values: impl DoubleEndedIterator<Item = Value>) -> Value {
    values.rev().fold(Value::Atom(tag(0)), |tail, head| Value::data(tag(1), vec![head, tail]))
}

#[test]
fn arithmetic_is_exact() {
    let (one, three) = (Value::Int(1), Value::Int(3));
    let third = divide(&one, &three).unwrap();
    assert_eq!(show(&third, &Plain), "1/3");
    assert_eq!(multiply(&third, &three), Ok(Value::Int(1)));
    assert_eq!(add(&third, &third).map(|sum| show(&sum, &Plain)), Ok("2/3".to_owned()));
    assert_eq!(divide(&one, &Value::Int(0)), Err(NumberFault::DivisionByZero));
    assert_eq!(divide_ints(&Value::Int(-7), &Value::Int(2)), Ok(Value::Int(-3)));
    assert_eq!(modulo(&Value::Int(-7), &Value::Int(2)), Ok(Value::Int(-1)));
    assert_eq!(modulo(&Value::Int(i64::MIN), &Value::Int(-1)), Ok(Value::Int(0)));
    assert!(third < one && negate(&third).unwrap() < third);
    let big = multiply(&Value::Int(i64::MAX), &Value::Int(2)).unwrap();
    assert_eq!(show(&big, &Plain), "18446744073709551614");
    assert_eq!(divide(&big, &Value::Int(2)), Ok(Value::Int(i64::MAX)));
    assert_eq!(power(&Value::Int(2), &Value::Int(-2)).map(|p| show(&p, &Plain)), Ok("1/4".to_owned()));
    assert_eq!(power(&Value::Int(2), &Value::Int(1 << 40)), Err(NumberFault::TooLarge));
    assert_eq!(power(&Value::Int(-1), &Value::Int((1 << 40) + 1)), Ok(Value::Int(-1)));
    assert_eq!(power(&Value::Int(0), &Value::Int(-1)), Err(NumberFault::DivisionByZero));
}

#[test]
fn data_are_ordered_by_name_then_arguments() {
    let apple = Value::Atom(tag(2));
    let boxed = |n| Value::data(tag(3), vec![Value::Int(n)]);
    assert!(apple < boxed(0) && boxed(0) < boxed(1));
    assert!(boxed(9) < list([Value::Int(1)].into_iter()), "Box comes before Cons");
    assert!(list([1, 2].map(Value::Int).into_iter()) < list([1, 3].map(Value::Int).into_iter()));
    assert_eq!(list([1, 2].map(Value::Int).into_iter()), list([1, 2].map(Value::Int).into_iter()));
}

#[test]
fn long_lists_are_compared_shown_and_dropped() {
    let (a, b) = (list((0..300_000).map(Value::Int)), list((0..300_000).map(Value::Int)));
    assert_eq!(a, b);
    assert!(show(&a, &Plain).starts_with("list[0,1,2"));
    let deep = (0..300_000).fold(Value::Unit, |inner, _| Value::data(tag(3), vec![inner]));
    assert_eq!(show(&deep, &Plain).len(), 300_000 * 5 + 4);
}

#[test]
fn sets_lists_and_maps_are_terms() {
    let set: BTreeSet<Value> = [3, 1, 2].map(Value::Int).into_iter().collect();
    let entry = |key: &str, value| Value::data(tag(3), vec![Value::text(key), value]);
    let entries = [entry("b", Value::Null), entry("a", Value::Set(Rc::new(set)))];
    let empty = Value::Atom(tag(4));
    let map = entries.into_iter().rev().fold(empty.clone(), |rest, e| Value::data(tag(5), vec![e, rest]));
    assert_eq!(show(&map, &Plain), r#"map[Box("b",null),Box("a",set[1,2,3])]"#);
    assert_eq!(show(&empty, &Plain), "EmptyMap");
    assert_eq!(show(&Value::Set(Rc::default()), &Plain), "EmptySet");
    assert_eq!(show(&list([].into_iter()), &Plain), "list[]");
}

#[test]
fn texts_are_quoted_within_data_only() {
    let text = Value::text("a\"b\\c\n");
    let boxed = Value::data(tag(3), vec![text.clone()]);
    assert_eq!(to_text(&text, &Plain), "a\"b\\c\n");
    assert_eq!(to_text(&boxed, &Plain), "Box(\"a\\\"b\\c\n\")");
    assert_eq!(show(&boxed, &Plain), r#"Box("a\"b\\c\n")"#, "a report has one line for it");
}
