//! The random number generator, `SplitMix64`, so that a seed and a commit reproduce every simulation.

/// A seeded random number generator.
#[derive(Clone, Debug)]
pub struct Rng(u64);

impl Rng {
    /// Creates a generator. Equal seeds give equal numbers.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next number.
    pub fn draw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below the bound, which must not be zero.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.draw() % bound
    }

    /// An index below the length, which must not be zero.
    pub fn index(&mut self, length: usize) -> usize {
        usize::try_from(self.below(length as u64)).expect("the number is below a length")
    }

    /// A small number below the bound, which must not be zero.
    pub fn small(&mut self, bound: u32) -> u32 {
        u32::try_from(self.below(u64::from(bound))).expect("the number is below a small bound")
    }

    /// A small integer below the bound, which must not be zero.
    pub fn int(&mut self, bound: u32) -> i64 {
        i64::from(self.small(bound))
    }

    /// True with this probability in percent.
    pub fn percent(&mut self, share: u64) -> bool {
        self.below(100) < share
    }

    /// A random element.
    pub fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.index(from.len())]
    }
}
