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
        self.encoded().unwrap_or_else(|colours| self.encode(&self.by_name(&colours)))
    }

    /// The same, whatever looks alike; none if that is too much.
    pub fn exact(&self) -> Option<Vec<i64>> {
        self.encoded().ok()
    }

    /// The encoding, or the colours if there are too many ways to number what looks alike.
    fn encoded(&self) -> Result<Vec<i64>, Colours> {
        let mut search = Search::new(self);
        let colours = search.refine(search.first_colours());
        search.visit(colours.clone());
        match search.tried > MOST_NUMBERINGS {
            true => Err(colours),
            false => Ok(search.best.map(|best| best.code).unwrap_or_default()),
        }
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
    /// colours are numbers that mix what is near a node, until each node has one of its own; it keeps that
    /// one. Where nodes look alike, names tell some of them apart.
    pub fn quick_order(&self) -> Vec<usize> {
        let referrers = self.referrers();
        let mut colours: Vec<u64> = self.nodes.iter().map(|node| own_colour(&node.items)).collect();
        let mut alike: Vec<usize> = (0..self.nodes.len()).collect();
        let mut classes = keep_alike(&mut alike, &colours);
        let mut refined = Vec::with_capacity(alike.len());
        while !alike.is_empty() {
            refined.clear();
            refined.extend(alike.iter().map(|&k| self.refined_colour(k, &colours, &referrers[k])));
            alike.iter().zip(&refined).for_each(|(&k, &colour)| colours[k] = colour);
            let before = (alike.len(), classes);
            classes = keep_alike(&mut alike, &colours);
            // Where nothing was told apart, names must do.
            if alike.len() == before.0 && classes <= before.1 {
                self.tell_apart(&mut alike, &mut colours, &referrers);
                classes = keep_alike(&mut alike, &colours);
            }
        }
        let mut order: Vec<usize> = (0..self.nodes.len()).collect();
        order.sort_unstable_by_key(|&k| (colours[k], k));
        order
    }

    /// Tells the first by name of those that look least from the others that look like it; or all of these,
    /// where they are near nobody who looks like another one, and so tell nobody else apart.
    fn tell_apart(&self, alike: &mut Vec<usize>, colours: &mut [u64], referrers: &[Vec<(usize, usize)>]) {
        let least = alike.iter().take_while(|&&k| colours[k] == colours[alike[0]]).count();
        alike[..least].sort_unstable_by(|&a, &b| self.nodes[a].name.cmp(&self.nodes[b].name));
        let mut is_alike = vec![false; colours.len()];
        alike.iter().for_each(|&k| is_alike[k] = true);
        let is_near_alike = |k: usize| {
            let refers = |item: &Item| matches!(item, Item::Node(to) if is_alike[*to]);
            self.nodes[k].items.iter().any(refers) || referrers[k].iter().any(|&(from, _)| is_alike[from])
        };
        let told = if alike[..least].iter().any(|&k| is_near_alike(k)) { 1 } else { least };
        for (rank, k) in alike.drain(..told).enumerate() {
            colours[k] = mix(colours[k], rank as u64 + 1);
        }
    }

    /// A node's colour mixed with those of the nodes that it refers to and that refer to it.
    fn refined_colour(&self, k: usize, colours: &[u64], referrers: &[(usize, usize)]) -> u64 {
        let references = self.nodes[k].items.iter().filter_map(|item| match item {
            Item::Node(to) => Some(colours[*to]),
            Item::Number(_) => None,
        });
        let outward = references.fold(colours[k], mix);
        // A sum, for those who refer to the node have no order.
        let inward = referrers.iter().map(|&(from, at)| mix(colours[from], at as u64));
        mix(outward, inward.fold(0, u64::wrapping_add))
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

/// Keeps the nodes that look like another one, by colour. Returns how many colours they have.
fn keep_alike(nodes: &mut Vec<usize>, colours: &[u64]) -> usize {
    nodes.sort_unstable_by_key(|&k| (colours[k], k));
    let (mut kept, mut classes, mut at) = (0, 0, 0);
    while at < nodes.len() {
        let colour = colours[nodes[at]];
        let length = nodes[at..].iter().take_while(|&&k| colours[k] == colour).count();
        if length > 1 {
            nodes.copy_within(at..at + length, kept);
            (kept, classes) = (kept + length, classes + 1);
        }
        at += length;
    }
    nodes.truncate(kept);
    classes
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
    best: Option<Best>,
    tried: usize,
    /// The nodes that were told apart from those that look like them, in order.
    fixed: Vec<usize>,
    /// Ways to exchange nodes so that nothing differs: where each node goes.
    symmetries: Vec<Vec<usize>>,
    /// Where two numberings with the same encoding part, all that is below is known: so many nodes are fixed there.
    back_to: Option<usize>,
}

/// The least encoding so far, the numbering that it is of, and what was fixed on the way to it.
struct Best {
    code: Vec<i64>,
    numbers: Colours,
    fixed: Vec<usize>,
}

impl<'a> Search<'a> {
    fn new(graph: &'a Graph) -> Search<'a> {
        let referrers = graph.referrers();
        let (fixed, symmetries) = (Vec::new(), Vec::new());
        Search { graph, referrers, best: None, tried: 0, fixed, symmetries, back_to: None }
    }

    /// A numbering that tells all nodes apart.
    fn meet(&mut self, numbers: Colours) {
        self.tried += 1;
        let code = self.graph.encode(&numbers);
        match &self.best {
            Some(best) if code == best.code => {
                let mut nodes = vec![0; numbers.len()];
                best.numbers.iter().enumerate().for_each(|(node, &number)| nodes[number] = node);
                self.symmetries.push(numbers.iter().map(|&number| nodes[number]).collect());
                let common = self.fixed.iter().zip(&best.fixed).take_while(|(a, b)| a == b).count();
                self.back_to = Some(common);
            }
            Some(best) if code > best.code => {}
            _ => self.best = Some(Best { code, numbers, fixed: self.fixed.clone() }),
        }
    }

    /// Whether symmetries that leave what is fixed where it is lead from a node to one of some others.
    fn is_symmetric(&self, node: usize, others: &[usize]) -> bool {
        let keeps = |symmetry: &&Vec<usize>| self.fixed.iter().all(|&fixed| symmetry[fixed] == fixed);
        let symmetries: Vec<&Vec<usize>> = self.symmetries.iter().filter(keeps).collect();
        let (mut orbit, mut at) = (vec![node], 0);
        while at < orbit.len() {
            for symmetry in &symmetries {
                let next = symmetry[orbit[at]];
                if !orbit.contains(&next) {
                    orbit.push(next);
                }
            }
            at += 1;
        }
        // Whoever is led to by some is led back by others: there are finitely many.
        others.iter().any(|other| orbit.contains(other))
    }

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
        let Some(cell) = smallest_cell(&colours) else { return self.meet(colours) };
        let fixed = self.fixed.len();
        // Where all can change places, any order will do.
        if cell.iter().all(|&node| node == cell[0] || self.interchangeable(node, cell[0])) {
            let keys = colours.iter().enumerate().map(|(k, colour)| (*colour, cell.binary_search(&k).ok()));
            let split = ranks(keys.collect());
            self.fixed.extend(&cell);
            self.visit(self.refine(split));
            return self.fixed.truncate(fixed);
        }
        let mut first: Vec<usize> = Vec::new();
        for node in cell {
            if first.iter().any(|&other| self.interchangeable(node, other)) || self.is_symmetric(node, &first)
            {
                continue;
            }
            first.push(node);
            self.fixed.push(node);
            let keys = colours.iter().enumerate().map(|(k, colour)| (*colour, k != node));
            let split = ranks(keys.collect());
            self.visit(self.refine(split));
            self.fixed.truncate(fixed);
            if self.back_to.is_some_and(|to| to < fixed) {
                return;
            }
            self.back_to = None;
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
