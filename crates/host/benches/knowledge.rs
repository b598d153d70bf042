//! Searches of a knowledge base: `cargo bench -p branchpoint-host --bench knowledge`.
//!
//! 10,000 documents of four passages, whose words are as frequent as those of a language (Zipf's law), searched by words (BM25) and by
//! words and vectors. The vectors are random: how long a comparison takes does not depend on what they mean.

use std::time::{Duration, Instant};

use branchpoint_host::SqliteStorage;
use branchpoint_host::store::Durability;
use branchpoint_runners::CancellationToken;
use branchpoint_runners::storage::{CANDIDATES, KnowledgeDocument, ModelVector, PassageSearch, Retrieval, Vector};

const DOCUMENTS: usize = 10_000;
const PASSAGES: usize = 4;
const PASSAGE_WORDS: usize = 150;
const VOCABULARY: usize = 40_000;
const DIMENSIONS: usize = 384;
const SEARCHES: usize = 200;

/// The number of the most frequent words that queries of selective words leave out.
const FREQUENT: usize = 500;

fn main() {
    let folder = tempfile::tempdir().expect("there is room for a folder");
    let storage = SqliteStorage::new(folder.path().join("store.db"), Durability::Normal);
    let mut words = Words::new();
    let began = Instant::now();
    for number in 0..DOCUMENTS {
        let passages: Vec<String> = (0..PASSAGES).map(|_| words.text(PASSAGE_WORDS, 0)).collect();
        let vectors = passages.iter().map(|_| words.random.vector()).collect();
        let document = KnowledgeDocument {
            name: format!("document-{number}"),
            passages,
            vectors: Some(("model".into(), vectors)),
            ..KnowledgeDocument::default()
        };
        storage.put_document("bench", &document).expect("it is added");
    }
    println!(
        "{DOCUMENTS} documents, {} passages of {PASSAGE_WORDS} words: added in {:.1} s",
        DOCUMENTS * PASSAGES,
        began.elapsed().as_secs_f64()
    );
    for (name, length, rarest) in
        [("3 selective words", 3, FREQUENT), ("6 words as in text", 6, 0), ("20 words as in text", 20, 0)]
    {
        for is_hybrid in [false, true] {
            let mut times = Vec::with_capacity(SEARCHES);
            for _ in 0..SEARCHES {
                let query = words.text(length, rarest);
                let vector = is_hybrid.then(|| ModelVector { model: "model".into(), vector: words.random.vector() });
                times.push(search(&storage, query, vector));
            }
            times.sort_unstable();
            let ms = |per_cent: usize| times[(times.len() - 1) * per_cent / 100].as_secs_f64() * 1_000.0;
            let kind = if is_hybrid { "BM25 and vectors" } else { "BM25" };
            println!("{name}, {kind}: p50 {:.1} ms, p95 {:.1} ms, slowest {:.1} ms", ms(50), ms(95), ms(100));
        }
    }
}

fn search(storage: &SqliteStorage, query: String, vector: Option<ModelVector>) -> Duration {
    let search = PassageSearch { query, vector, limit: 20, candidates: CANDIDATES, ..PassageSearch::default() };
    let began = Instant::now();
    let passages = storage.search_passages("bench", &search, &CancellationToken::new()).expect("it is searched");
    let elapsed = began.elapsed();
    assert!(!passages.is_empty(), "every query has words of the documents");
    elapsed
}

/// Words that are as frequent as their ranks say.
struct Words {
    random: Random,
    /// The frequencies, added up.
    frequencies: Vec<f64>,
}

impl Words {
    fn new() -> Self {
        let mut sum = 0.0;
        let added = |rank: usize| {
            sum += 1.0 / (rank as f64 + 2.7);
            sum
        };
        Self { random: Random(7), frequencies: (0..VOCABULARY).map(added).collect() }
    }

    /// Words from a rank on, joined to a text.
    fn text(&mut self, words: usize, from: usize) -> String {
        let words: Vec<String> = (0..words).map(|_| self.word(from)).collect();
        words.join(" ")
    }

    fn word(&mut self, from: usize) -> String {
        let below = from.checked_sub(1).map_or(0.0, |rank| self.frequencies[rank]);
        let all = self.frequencies[VOCABULARY - 1];
        let place = below + self.random.unit() * (all - below);
        let rank = self.frequencies.partition_point(|sum| *sum < place).min(VOCABULARY - 1);
        // Letters that are mixed well, so that neighbours in rank are not neighbours in the index.
        let mut number = rank * 7_919 % VOCABULARY;
        let mut word = String::from("w");
        for _ in 0..4 {
            word.push(char::from(b'a' + u8::try_from(number % 26).unwrap_or_default()));
            number /= 26;
        }
        word
    }
}

/// The same numbers in every run: `SplitMix64`.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number from 0 to 1.
    fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn vector(&mut self) -> Vector {
        #[expect(clippy::cast_possible_truncation, reason = "a random number may lose digits")]
        let numbers = (0..DIMENSIONS).map(|_| (self.unit() - 0.5) as f32).collect();
        Vector::new(numbers).expect("not every number is zero")
    }
}
