//! The dialect `session`: what is refused and where, what programs come of it, and that nothing makes it panic.

mod lowered;
mod never_panics;
mod refused;
