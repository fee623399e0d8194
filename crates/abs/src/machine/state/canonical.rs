//! Graphs up to renaming of their nodes: colours are refined until they tell apart all they can, then nodes
//! that still look alike are numbered in every way, and the least encoding wins.

/// A part of what a node says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Item {
    Number(i64),
    /// A reference to a node.
    Node(usize),
}

/// A node.
#[derive(Clone, Debug)]
pub(super) struct Node {
    /// What it is called. Used only where there are too many ways to number what looks alike.
    pub name: (bool, Vec<u32>),
    pub items: Vec<Item>,
}

/// A graph.
#[derive(Clone, Debug, Default)]
pub(super) struct Graph {
    pub nodes: Vec<Node>,
}

/// How many numberings are tried.
const MOST_NUMBERINGS: usize = 2_000;

/// Colours: nodes of one colour look alike. A colour is the number of nodes whose colour is less.
type Colours = Vec<usize>;

impl Graph {
    /// An encoding that is the same for graphs that differ in names only.
    pub fn canonical(&self) -> Vec<i64> {
        let mut search = Search { graph: self, referrers: self.referrers(), best: None, tried: 0 };
        let colours = search.refine(search.first_colours());
        search.visit(colours.clone());
        if search.tried > MOST_NUMBERINGS {
            return self.encode(&self.by_name(&colours));
        }
        search.best.unwrap_or_default()
    }

    /// For each node, who refers to it, and where.
    fn referrers(&self) -> Vec<Vec<(usize, usize)>> {
        let mut referrers = vec![Vec::new(); self.nodes.len()];
        for (from, node) in self.nodes.iter().enumerate() {
            for (at, item) in node.items.iter().enumerate() {
                if let Item::Node(to) = item {
                    referrers[*to].push((from, at));
                }
            }
        }
        referrers
    }

    /// All nodes in order, those that look alike by name.
    fn by_name(&self, colours: &Colours) -> Colours {
        ranks((0..self.nodes.len()).map(|k| (colours[k], &self.nodes[k].name)).collect())
    }

    /// An order of the nodes that is quick to find, and the same for most graphs that differ in names only:
    /// colours are numbers that mix what is near a node, and of nodes that look alike the first by name is
    /// told apart from the others.
    pub fn quick_order(&self) -> Vec<usize> {
        let referrers = self.referrers();
        let mut colours: Vec<u64> = self.nodes.iter().map(|node| own_colour(&node.items)).collect();
        let mut refined = vec![0; colours.len()];
        let mut distinct = count_distinct(&colours);
        // Each round tells at least one more node apart, but for accidents of mixing.
        for _ in 0..2 * self.nodes.len() + 2 {
            for (k, colour) in refined.iter_mut().enumerate() {
                let references = self.nodes[k].items.iter().filter_map(|item| match item {
                    Item::Node(to) => Some(colours[*to]),
                    Item::Number(_) => None,
                });
                let outward = references.fold(colours[k], mix);
                // A sum, for those who refer to the node have no order.
                let inward = referrers[k].iter().map(|&(from, at)| mix(colours[from], at as u64));
                *colour = mix(outward, inward.fold(0, u64::wrapping_add));
            }
            std::mem::swap(&mut colours, &mut refined);
            let count = count_distinct(&colours);
            if count == colours.len() {
                break;
            }
            if count <= distinct {
                let Some(first) = self.first_alike(&colours) else { break };
                colours[first] = mix(colours[first], 1);
            }
            distinct = count.max(distinct);
        }
        let mut order: Vec<usize> = (0..self.nodes.len()).collect();
        order.sort_by_key(|&k| (colours[k], k));
        order
    }

    /// The first by name of the nodes that look like another one, of those that look least.
    fn first_alike(&self, colours: &[u64]) -> Option<usize> {
        let mut order: Vec<usize> = (0..colours.len()).collect();
        order.sort_by(|&a, &b| (colours[a], &self.nodes[a].name).cmp(&(colours[b], &self.nodes[b].name)));
        order.windows(2).find(|pair| colours[pair[0]] == colours[pair[1]]).map(|pair| pair[0])
    }

    /// Writes the nodes in an order. Lists are equal exactly if the graphs, in their orders, are.
    pub fn encode_into(&self, order: &[usize], code: &mut Vec<i64>) {
        let mut numbers = vec![0; order.len()];
        order.iter().enumerate().for_each(|(number, &k)| numbers[k] = number);
        for &k in order {
            code.push(self.nodes[k].items.len() as i64);
            code.extend(self.nodes[k].items.iter().map(|item| match item {
                Item::Number(n) => *n,
                Item::Node(to) => numbers[*to] as i64,
            }));
        }
    }

    /// The nodes in the order of their numbers.
    fn encode(&self, numbers: &Colours) -> Vec<i64> {
        let mut order: Vec<usize> = (0..self.nodes.len()).collect();
        order.sort_by_key(|&k| numbers[k]);
        let mut code = Vec::new();
        self.encode_into(&order, &mut code);
        code
    }
}

/// What a node says apart from references, as a colour.
fn own_colour(items: &[Item]) -> u64 {
    items.iter().fold(items.len() as u64, |colour, item| match item {
        Item::Number(n) => mix(colour, *n as u64),
        Item::Node(_) => mix(colour, u64::MAX),
    })
}

/// Mixes two numbers into one, so that order matters.
fn mix(a: u64, b: u64) -> u64 {
    let mixed = (a ^ b.wrapping_mul(0x9E37_79B9_7F4A_7C15)).wrapping_mul(0xD6E8_FEB8_6659_FD93);
    mixed ^ (mixed >> 32)
}

fn count_distinct(colours: &[u64]) -> usize {
    let mut sorted = colours.to_vec();
    sorted.sort_unstable();
    sorted.dedup();
    sorted.len()
}

/// The rank of each key: how many keys are less.
fn ranks<K: Ord>(keys: Vec<K>) -> Colours {
    let mut order: Vec<usize> = (0..keys.len()).collect();
    order.sort_by(|&a, &b| keys[a].cmp(&keys[b]));
    let mut ranks = vec![0; keys.len()];
    for at in 1..order.len() {
        let same = keys[order[at]] == keys[order[at - 1]];
        ranks[order[at]] = if same { ranks[order[at - 1]] } else { at };
    }
    ranks
}

struct Search<'a> {
    graph: &'a Graph,
    referrers: Vec<Vec<(usize, usize)>>,
    best: Option<Vec<i64>>,
    tried: usize,
}

impl Search<'_> {
    /// What nodes say apart from references.
    fn first_colours(&self) -> Colours {
        let masked = |item: &Item| match item {
            Item::Number(n) => (0, *n),
            Item::Node(_) => (1, 0),
        };
        ranks(self.graph.nodes.iter().map(|node| node.items.iter().map(masked).collect::<Vec<_>>()).collect())
    }

    /// Tells nodes apart by the colours of those they refer to, and of those who refer to them.
    fn refine(&self, mut colours: Colours) -> Colours {
        loop {
            let key = |k: usize| {
                let to = self.graph.nodes[k].items.iter().filter_map(|item| match item {
                    Item::Node(to) => Some(colours[*to]),
                    Item::Number(_) => None,
                });
                let mut from: Vec<(usize, usize)> =
                    self.referrers[k].iter().map(|&(node, at)| (colours[node], at)).collect();
                from.sort_unstable();
                (colours[k], to.collect::<Vec<_>>(), from)
            };
            let refined = ranks((0..colours.len()).map(key).collect());
            if refined == colours {
                return colours;
            }
            colours = refined;
        }
    }

    /// Numbers what looks alike in every way. The depth is at most the number of nodes in the smallest cells.
    fn visit(&mut self, colours: Colours) {
        if self.tried > MOST_NUMBERINGS {
            return;
        }
        let Some(cell) = smallest_cell(&colours) else {
            self.tried += 1;
            let code = self.graph.encode(&colours);
            if self.best.as_ref().is_none_or(|best| code < *best) {
                self.best = Some(code);
            }
            return;
        };
        // Where all can change places, any order will do.
        if cell.iter().all(|&node| node == cell[0] || self.interchangeable(node, cell[0])) {
            let keys = colours.iter().enumerate().map(|(k, colour)| (*colour, cell.binary_search(&k).ok()));
            let split = ranks(keys.collect());
            return self.visit(self.refine(split));
        }
        let mut first: Vec<usize> = Vec::new();
        for node in cell {
            if first.iter().any(|&other| self.interchangeable(node, other)) {
                continue;
            }
            first.push(node);
            let keys = colours.iter().enumerate().map(|(k, colour)| (*colour, k != node));
            let split = ranks(keys.collect());
            self.visit(self.refine(split));
        }
    }

    /// Whether two nodes can change places and nothing differs: nobody refers to them, and they say the same.
    fn interchangeable(&self, a: usize, b: usize) -> bool {
        let apart = |k: usize| self.referrers[k].iter().all(|&(from, _)| from == k);
        let swap = |item: &Item| match *item {
            Item::Node(to) if to == a => Item::Node(b),
            item => item,
        };
        let (x, y) = (&self.graph.nodes[a].items, &self.graph.nodes[b].items);
        apart(a) && apart(b) && x.len() == y.len() && x.iter().map(swap).eq(y.iter().copied())
    }
}

/// The smallest set of nodes that look alike, if there is one.
fn smallest_cell(colours: &Colours) -> Option<Vec<usize>> {
    let mut sizes = vec![0; colours.len()];
    colours.iter().for_each(|&colour| sizes[colour] += 1);
    let smallest =
        (0..sizes.len()).filter(|&colour| sizes[colour] > 1).min_by_key(|&colour| sizes[colour])?;
    Some((0..colours.len()).filter(|&k| colours[k] == smallest).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A graph of nodes that refer to others, named by their places.
    fn graph(edges: &[&[usize]]) -> Graph {
        let node = |(k, to): (usize, &&[usize])| Node {
            name: (false, vec![k as u32]),
            items: to.iter().map(|&to| Item::Node(to)).collect(),
        };
        Graph { nodes: edges.iter().enumerate().map(node).collect() }
    }

    #[test]
    fn names_do_not_matter() {
        // A ring of four and a pair, in two numberings; and two rings of three.
        let a = graph(&[&[1], &[2], &[3], &[0], &[5], &[4]]);
        let b = graph(&[&[3], &[4], &[5], &[2], &[1], &[0]]);
        let c = graph(&[&[1], &[2], &[0], &[4], &[5], &[3]]);
        assert_ne!(a.canonical(), c.canonical());
        assert_eq!(a.canonical(), b.canonical());
        let quick = |graph: &Graph| {
            let mut code = Vec::new();
            graph.encode_into(&graph.quick_order(), &mut code);
            code
        };
        assert_ne!(quick(&a), quick(&c));
        assert_eq!(quick(&a), quick(&b));
    }

    #[test]
    fn many_that_look_alike() {
        let lone: Vec<&[usize]> = vec![&[]; 50];
        assert_eq!(graph(&lone).canonical(), vec![0; 50]);
        let a = graph(&[&[], &[0], &[0], &[], &[3], &[3], &[3]]);
        let b = graph(&[&[4], &[4], &[], &[2], &[], &[2], &[2]]);
        assert_eq!(a.canonical(), b.canonical());
    }
}
