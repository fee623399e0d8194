//! As much of JSON Schema 2020-12 as the schemas in `docs/schema` use. A keyword that is not known here is
//! refused, so that no schema says more than is tested. (The crate `jsonschema` would bring 60 others with
//! it.)

use serde_json::Value;

pub struct Schema {
    root: Value,
}

impl Schema {
    pub fn new(text: &str) -> Schema {
        Schema { root: serde_json::from_str(text).expect("the schema is JSON") }
    }

    /// # Errors
    /// If the value is not of the schema: where, and what should be there.
    pub fn validate(&self, value: &Value) -> Result<(), String> {
        self.check(&self.root, value, "$")
    }

    fn check(&self, schema: &Value, value: &Value, at: &str) -> Result<(), String> {
        for (keyword, wanted) in schema.as_object().expect("a schema is an object") {
            self.keyword(keyword, wanted, value, at)?;
        }
        Ok(())
    }

    fn keyword(&self, keyword: &str, wanted: &Value, value: &Value, at: &str) -> Result<(), String> {
        let require = |holds: bool| {
            if holds { Ok(()) } else { Err(format!("{at}: {value} is not {keyword} {wanted}")) }
        };
        match keyword {
            "$schema" | "$defs" | "title" | "description" => Ok(()),
            "$ref" => self.check(self.definition(wanted), value, at),
            "const" => require(value == wanted),
            "enum" => require(list(wanted).contains(value)),
            "type" => require(match wanted {
                Value::Array(names) => names.iter().any(|name| has_type(value, name)),
                name => has_type(value, name),
            }),
            "minimum" => require(value.as_f64().is_none_or(|number| number >= wanted.as_f64().unwrap())),
            "pattern" => require(value.as_str().is_none_or(|text| matches(text, wanted.as_str().unwrap()))),
            "required" => {
                require(list(wanted).iter().all(|name| value.get(name.as_str().unwrap()).is_some()))
            }
            "properties" => wanted.as_object().unwrap().iter().try_for_each(|(name, schema)| {
                value.get(name).map_or(Ok(()), |inner| self.check(schema, inner, &format!("{at}.{name}")))
            }),
            "items" => value
                .as_array()
                .into_iter()
                .flatten()
                .enumerate()
                .try_for_each(|(index, item)| self.check(wanted, item, &format!("{at}[{index}]"))),
            "oneOf" | "anyOf" => {
                let results: Vec<_> =
                    list(wanted).iter().map(|schema| self.check(schema, value, at)).collect();
                match results.iter().filter(|result| result.is_ok()).count() {
                    0 => Err(format!("{at}: none of {keyword} holds: {results:?}")),
                    1 => Ok(()),
                    _ => require(keyword == "anyOf"),
                }
            }
            _ => panic!("the schema has the keyword {keyword}, which its test does not know"),
        }
    }

    fn definition(&self, reference: &Value) -> &Value {
        let pointer =
            reference.as_str().and_then(|text| text.strip_prefix('#')).expect("references are local");
        self.root.pointer(pointer).unwrap_or_else(|| panic!("there is no {pointer} in the schema"))
    }
}

fn list(value: &Value) -> &[Value] {
    value.as_array().expect("the keyword has a list")
}

fn has_type(value: &Value, name: &Value) -> bool {
    match name.as_str().expect("a type is a name") {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_u64() || value.is_i64(),
        "number" => value.is_number(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        other => panic!("{other} is no type"),
    }
}

/// The patterns of the schemas, by hand.
fn matches(text: &str, pattern: &str) -> bool {
    let number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    match pattern {
        r"^[0-9]+(\.[0-9]+)*$" => text.split('.').all(number),
        "^v1:[0-9.#*,]*$" => text
            .strip_prefix("v1:")
            .is_some_and(|rest| rest.chars().all(|c| c.is_ascii_digit() || ".#*,".contains(c))),
        r"^[\s\S]+:[0-9]+:[0-9]+$" => {
            let mut parts = text.rsplitn(3, ':');
            let (column, line, file) = (parts.next(), parts.next(), parts.next());
            column.is_some_and(number)
                && line.is_some_and(number)
                && file.is_some_and(|file| !file.is_empty())
        }
        _ => panic!("the schema has the pattern {pattern}, which its test does not know"),
    }
}
