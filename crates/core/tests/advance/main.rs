//! What each op does, by behaviour. Every test drives a run by hand: a host with a clock and nothing else.

mod adopt;
mod edges;
mod effects;
mod frames;
mod host;
mod loops;
mod meets;
mod ops;
mod people;
mod runs;
mod sizes;
mod trace;
mod waits;
