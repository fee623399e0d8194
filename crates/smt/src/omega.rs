//! The Omega test: whether inequalities over the integers have a solution, and one if so (W. Pugh, 1991).
//!
//! A row is a constant and a coefficient for each variable, and says that their sum is not negative. Two rows
//! that are opposite make an equality, which is solved by changes of variable as in Euclid's algorithm; then
//! variables are eliminated one by one. Where that is not exact, the dark shadow has solutions only if the
//! rows have, the real shadow has some whenever the rows have, and what is between is looked at in slices.
//! All is computed in checked arithmetic; whatever does not fit gives up, as does a want of work.

use std::collections::BTreeMap;

use crate::linear::common_divisor;
use crate::{Exhausted, Work};

/// A constant, then the coefficients: their sum is not negative.
pub(crate) type Row = Vec<i128>;

type Solution = Result<Option<Vec<i128>>, Exhausted>;

/// How deeply slices and eliminations may be within each other.
const DEEPEST: usize = 400;

/// A solution of rows over as many variables as `width`, if there is one.
pub(crate) fn solve(rows: Vec<Row>, width: usize, work: &mut Work) -> Solution {
    Omega { width, work }.solve(rows, 0)
}

struct Omega<'a> {
    width: usize,
    work: &'a mut Work,
}

/// A variable and how it is bounded.
struct Bounds {
    var: usize,
    lower: Vec<Row>,
    upper: Vec<Row>,
    rest: Vec<Row>,
}

fn fit<T>(value: Option<T>) -> Result<T, Exhausted> {
    value.ok_or(Exhausted)
}

impl Omega<'_> {
    fn solve(&mut self, rows: Vec<Row>, depth: usize) -> Solution {
        self.work.spend(1 + rows.len() * (self.width + 1))?;
        if depth > DEEPEST {
            return Err(Exhausted);
        }
        let Some(rows) = tighten(rows)? else { return Ok(None) };
        if let Some(equality) = equality(&rows) {
            return self.equality(equality, rows, depth);
        }
        let Some(bounds) = self.choose(&rows) else { return Ok(Some(vec![0; self.width])) };
        self.eliminate(bounds, rows, depth)
    }

    /// Makes one coefficient of an equality smaller, or uses a coefficient of 1 to get rid of its variable.
    fn equality(&mut self, equality: Row, rows: Vec<Row>, depth: usize) -> Solution {
        let candidates = (1..=self.width).filter(|&at| equality[at] != 0);
        let Some(var) = candidates.min_by_key(|&at| equality[at].unsigned_abs()) else { return Ok(None) };
        let by = equality[var];
        // The variable is a new one, in its place, minus a multiple of the others: so are the coefficients.
        let mut change: Row = Vec::with_capacity(equality.len());
        for (at, &coefficient) in equality.iter().enumerate() {
            let quotient = if at == var { 0 } else { fit(coefficient.checked_div_euclid(by))? };
            change.push(fit(quotient.checked_neg())?);
        }
        let last = by.unsigned_abs() == 1;
        if !last {
            change[var] = 1;
        }
        let rows = rows.iter().map(|row| substitute(row, var, &change)).collect::<Result<_, _>>()?;
        let Some(mut solution) = self.solve(rows, depth + 1)? else { return Ok(None) };
        solution[var - 1] = evaluate(&change, &solution)?;
        Ok(Some(solution))
    }

    /// The variable whose elimination makes the fewest rows: one that loses nothing, if there is one.
    fn choose(&self, rows: &[Row]) -> Option<Bounds> {
        let cost = |var: usize| {
            let lower = rows.iter().filter(|row| row[var] > 0);
            let upper = rows.iter().filter(|row| row[var] < 0);
            let (below, above) = (lower.clone().count(), upper.clone().count());
            if below + above == 0 {
                return None;
            }
            let exact = lower.clone().all(|row| row[var] == 1) || upper.clone().all(|row| row[var] == -1);
            Some((!exact, below * above))
        };
        let (_, var) = (1..=self.width).filter_map(|var| Some((cost(var)?, var))).min()?;
        let mut bounds = Bounds { var, lower: Vec::new(), upper: Vec::new(), rest: Vec::new() };
        for row in rows {
            let into = match row[var] {
                0 => &mut bounds.rest,
                by if by > 0 => &mut bounds.lower,
                _ => &mut bounds.upper,
            };
            into.push(row.clone());
        }
        Some(bounds)
    }

    fn eliminate(&mut self, bounds: Bounds, rows: Vec<Row>, depth: usize) -> Solution {
        let var = bounds.var;
        let exact =
            bounds.lower.iter().all(|row| row[var] == 1) || bounds.upper.iter().all(|row| row[var] == -1);
        let dark = self.shadow(&bounds, true)?;
        if let Some(solution) = self.solve(dark, depth + 1)? {
            return self.extend(&bounds, solution).map(Some);
        }
        if exact {
            return Ok(None);
        }
        let real = self.shadow(&bounds, false)?;
        if self.solve(real, depth + 1)?.is_none() {
            return Ok(None);
        }
        self.slices(&bounds, &rows, depth)
    }

    /// What is left of the bounds without their variable. The dark shadow leaves room for an integer.
    fn shadow(&mut self, bounds: &Bounds, dark: bool) -> Result<Vec<Row>, Exhausted> {
        let var = bounds.var;
        let mut rows = bounds.rest.clone();
        self.work.spend(bounds.lower.len() * bounds.upper.len() * (self.width + 1))?;
        for lower in &bounds.lower {
            for upper in &bounds.upper {
                let (a, b) = (lower[var], fit(upper[var].checked_neg())?);
                let mut row = Row::with_capacity(lower.len());
                for (&l, &u) in lower.iter().zip(upper) {
                    let (left, right) = (fit(l.checked_mul(b))?, fit(u.checked_mul(a))?);
                    row.push(fit(left.checked_add(right))?);
                }
                if dark {
                    let room = fit((a - 1).checked_mul(b - 1))?;
                    row[0] = fit(row[0].checked_sub(room))?;
                }
                rows.push(row);
            }
        }
        Ok(rows)
    }

    /// The variable, as small as its bounds allow, or else as great.
    fn extend(&mut self, bounds: &Bounds, mut solution: Vec<i128>) -> Result<Vec<i128>, Exhausted> {
        let var = bounds.var;
        solution[var - 1] = 0;
        let mut value: Option<i128> = None;
        for row in &bounds.lower {
            let rest = fit(evaluate(row, &solution)?.checked_neg())?;
            let least = fit(rest.checked_div_euclid(row[var]))? + i128::from(rest.rem_euclid(row[var]) != 0);
            value = Some(value.map_or(least, |known| known.max(least)));
        }
        if bounds.lower.is_empty() {
            for row in &bounds.upper {
                let most = evaluate(row, &solution)?.div_euclid(fit(row[var].checked_neg())?);
                value = Some(value.map_or(most, |known| known.min(most)));
            }
        }
        solution[var - 1] = value.unwrap_or(0);
        Ok(solution)
    }

    /// A solution outside of the dark shadow is close to some lower bound.
    fn slices(&mut self, bounds: &Bounds, rows: &[Row], depth: usize) -> Solution {
        let var = bounds.var;
        let most = bounds.upper.iter().map(|row| row[var].unsigned_abs()).max().unwrap_or(1) as i128;
        for lower in &bounds.lower {
            let a = lower[var];
            let last = fit(a.checked_mul(most).and_then(|product| product.checked_sub(a)))?;
            let last = fit(last.checked_sub(most))?.div_euclid(most);
            for distance in 0..=last {
                let mut at_least = lower.clone();
                at_least[0] = fit(at_least[0].checked_sub(distance))?;
                let at_most = at_least.iter().map(|by| fit(by.checked_neg())).collect::<Result<Row, _>>()?;
                let mut slice = rows.to_vec();
                slice.extend([at_least, at_most]);
                if let Some(solution) = self.solve(slice, depth + 1)? {
                    return Ok(Some(solution));
                }
            }
        }
        Ok(None)
    }
}

/// The rows in their tightest form, each direction once; none if they contradict each other.
fn tighten(rows: Vec<Row>) -> Result<Option<Vec<Row>>, Exhausted> {
    let mut tightest: BTreeMap<Vec<i128>, i128> = BTreeMap::new();
    for row in rows {
        let divisor = common_divisor(row[1..].iter().copied());
        if divisor == 0 {
            if row[0] < 0 {
                return Ok(None);
            }
            continue;
        }
        let constant = row[0].div_euclid(divisor);
        let direction: Vec<i128> = row[1..].iter().map(|by| by / divisor).collect();
        tightest.entry(direction).and_modify(|known| *known = constant.min(*known)).or_insert(constant);
    }
    for (direction, constant) in &tightest {
        let other = opposite(direction).and_then(|opposite| tightest.get(&opposite));
        if let Some(other) = other
            && fit(constant.checked_add(*other))? < 0
        {
            return Ok(None);
        }
    }
    let row = |(direction, constant): (Vec<i128>, i128)| {
        let mut row = direction;
        row.insert(0, constant);
        row
    };
    Ok(Some(tightest.into_iter().map(row).collect()))
}

fn opposite(direction: &[i128]) -> Option<Vec<i128>> {
    direction.iter().map(|by| by.checked_neg()).collect()
}

/// A row that is there with its opposite.
fn equality(rows: &[Row]) -> Option<Row> {
    let opposites: std::collections::BTreeSet<&Row> = rows.iter().collect();
    rows.iter().find(|row| opposite(row).is_some_and(|opposite| opposites.contains(&opposite))).cloned()
}

fn substitute(row: &Row, var: usize, change: &Row) -> Result<Row, Exhausted> {
    let by = row[var];
    let mut result = Row::with_capacity(row.len());
    for (at, (&coefficient, &changed)) in row.iter().zip(change).enumerate() {
        let kept = if at == var { 0 } else { coefficient };
        result.push(fit(changed.checked_mul(by).and_then(|part| kept.checked_add(part)))?);
    }
    Ok(result)
}

fn evaluate(row: &Row, solution: &[i128]) -> Result<i128, Exhausted> {
    let add = |sum: i128, (by, value): (&i128, &i128)| sum.checked_add(by.checked_mul(*value)?);
    fit(row[1..].iter().zip(solution).try_fold(row[0], add))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(rows: &[&[i128]], solvable: bool) {
        let width = rows[0].len() - 1;
        let rows: Vec<Row> = rows.iter().map(|row| row.to_vec()).collect();
        let solution = solve(rows.clone(), width, &mut Work(1 << 24)).expect("within the work");
        assert_eq!(solution.is_some(), solvable, "{rows:?}");
        if let Some(solution) = solution {
            for row in &rows {
                assert!(evaluate(row, &solution).unwrap() >= 0, "{row:?} at {solution:?}");
            }
        }
    }

    #[test]
    fn known_systems() {
        // 2x = 1
        check(&[&[-1, 2], &[1, -2]], false);
        // 7x + 12y + 31z = 17, 3x + 5y + 14z = 7, 1 <= x <= 40, -50 <= y <= 50 (Pugh's example).
        let pugh: [&[i128]; 8] = [
            &[-17, 7, 12, 31],
            &[17, -7, -12, -31],
            &[-7, 3, 5, 14],
            &[7, -3, -5, -14],
            &[-1, 1, 0, 0],
            &[40, -1, 0, 0],
            &[50, 0, 1, 0],
            &[50, 0, -1, 0],
        ];
        check(&pugh, true);
        // 27 <= 11x + 13y <= 45, -10 <= 7x - 9y <= 4: real solutions, no integer one.
        check(&[&[-27, 11, 13], &[45, -11, -13], &[10, 7, -9], &[4, -7, 9]], false);
        // 3x <= 2y <= 3x + 1, x odd: x = 2k + 1.
        check(&[&[0, -3, 2, 0], &[1, 3, -2, 0], &[1, -1, 0, 2], &[-1, 1, 0, -2]], true);
        check(&[&[5, 0], &[-5, 0]], false);
    }

    #[test]
    fn agrees_with_trying_all() {
        let mut seed = 1u64;
        let mut random = |below: u64| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            ((seed >> 33) % below) as i128
        };
        for _ in 0..4000 {
            let mut rows: Vec<Row> =
                (0..2 + random(4)).map(|_| (0..4).map(|_| random(13) - 6).collect()).collect();
            for var in 1..4 {
                let mut low = vec![3, 0, 0, 0];
                low[var] = 1;
                let mut high = vec![3, 0, 0, 0];
                high[var] = -1;
                rows.extend([low, high]);
            }
            let mut found = false;
            for x in -3..=3 {
                for y in -3..=3 {
                    for z in -3..=3 {
                        found |= rows.iter().all(|row| evaluate(row, &[x, y, z]).unwrap() >= 0);
                    }
                }
            }
            let rows: Vec<&[i128]> = rows.iter().map(Vec::as_slice).collect();
            check(&rows, found);
        }
    }

    #[test]
    fn what_does_not_fit_or_costs_too_much_gives_up() {
        let huge = vec![vec![i128::MAX, i128::MAX - 1, 3], vec![i128::MAX, 1 - i128::MAX, -5]];
        assert_eq!(solve(huge, 2, &mut Work(1 << 20)), Err(Exhausted));
        assert_eq!(solve(vec![vec![1, 2, 3]; 4], 2, &mut Work(3)), Err(Exhausted));
    }
}
