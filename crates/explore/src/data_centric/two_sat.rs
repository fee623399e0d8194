//! 2SAT in linear time: strongly connected components of the graph of implications (Aspvall, Plass, Tarjan
//! 1979).

/// A variable, true or negated: twice its number, and one more if it is negated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Literal(u32);

impl Literal {
    pub fn is(variable: usize) -> Literal {
        Literal(2 * variable as u32)
    }

    pub fn not(self) -> Literal {
        Literal(self.0 ^ 1)
    }

    /// Whether it holds under values of the variables.
    pub fn holds(self, values: &[bool]) -> bool {
        values[self.0 as usize / 2] != (self.0 % 2 == 1)
    }
}

/// A set of clauses with at most two literals each.
#[derive(Default)]
pub(super) struct TwoSat {
    /// By literal, what it implies.
    implied: Vec<Vec<u32>>,
}

/// What is known of a literal in the search for components.
#[derive(Clone, Copy)]
struct Met {
    time: u32,
    low: u32,
    component: u32,
}

const UNMET: Met = Met { time: u32::MAX, low: u32::MAX, component: u32::MAX };

impl TwoSat {
    pub fn new(variables: usize) -> TwoSat {
        TwoSat { implied: vec![Vec::new(); 2 * variables] }
    }

    /// `a => b`, and so `not b => not a`.
    pub fn imply(&mut self, a: Literal, b: Literal) {
        if a != b {
            self.implied[a.0 as usize].push(b.0);
            self.implied[b.not().0 as usize].push(a.not().0);
        }
    }

    /// The literal holds.
    pub fn fact(&mut self, a: Literal) {
        self.implied[a.not().0 as usize].push(a.0);
    }

    /// The values of all variables, or none if there is no assignment.
    pub fn solve(&self) -> Option<Vec<bool>> {
        let component = self.components();
        component
            .chunks_exact(2)
            .map(|pair| match pair[0].cmp(&pair[1]) {
                std::cmp::Ordering::Equal => None,
                // Components are numbered against the direction of implications.
                order => Some(order.is_lt()),
            })
            .collect()
    }

    /// The component of each literal (Tarjan, on a stack of its own).
    fn components(&self) -> Vec<u32> {
        let mut met = vec![UNMET; self.implied.len()];
        let (mut open, mut stack) = (Vec::new(), Vec::new());
        let (mut time, mut components) = (0, 0);
        for root in 0..self.implied.len() as u32 {
            if met[root as usize].time != u32::MAX {
                continue;
            }
            stack.push((root, 0));
            while let Some((at, next)) = stack.pop() {
                let here = at as usize;
                if next == 0 {
                    met[here] = Met { time, low: time, ..UNMET };
                    time += 1;
                    open.push(at);
                }
                if let Some(&to) = self.implied[here].get(next) {
                    stack.push((at, next + 1));
                    let there = met[to as usize];
                    if there.time == u32::MAX {
                        stack.push((to, 0));
                    } else if there.component == u32::MAX {
                        met[here].low = met[here].low.min(there.time);
                    }
                    continue;
                }
                if met[here].low == met[here].time {
                    while let Some(member) = open.pop() {
                        met[member as usize].component = components;
                        if member == at {
                            break;
                        }
                    }
                    components += 1;
                }
                if let Some(&(parent, _)) = stack.last() {
                    let low = met[here].low;
                    met[parent as usize].low = met[parent as usize].low.min(low);
                }
            }
        }
        met.into_iter().map(|met| met.component).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All formulas over three variables with a few random clauses, against all assignments.
    #[test]
    fn against_all_assignments() {
        let mut seed = 7_u64;
        let mut random = move |below: u64| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) % below
        };
        let mut unsatisfiable = 0;
        for _ in 0..3000 {
            let clauses: Vec<(u32, u32)> =
                (0..1 + random(9)).map(|_| (random(8) as u32, random(8) as u32)).collect();
            let holds = |values: &dyn Fn(u32) -> bool| {
                clauses.iter().all(|&(a, b)| {
                    let value = |literal: u32| values(literal / 2) != (literal % 2 == 1);
                    !value(a) || value(b)
                })
            };
            let mut two_sat = TwoSat::new(4);
            for &(a, b) in &clauses {
                if a == b ^ 1 { two_sat.fact(Literal(b)) } else { two_sat.imply(Literal(a), Literal(b)) }
            }
            let satisfiable = (0..16_u32).any(|bits| holds(&|variable| bits >> variable & 1 == 1));
            let solution = two_sat.solve();
            assert_eq!(solution.is_some(), satisfiable, "{clauses:?}");
            unsatisfiable += u32::from(!satisfiable);
            if let Some(values) = solution {
                assert!(holds(&|variable| values[variable as usize]), "{clauses:?}");
            }
        }
        assert!(unsatisfiable > 50, "{unsatisfiable}");
    }
}
