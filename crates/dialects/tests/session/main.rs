//! The dialect `session`: rejected documents, lowered programs, and no panics.

mod lowered;
mod never_panics;
mod rejected;
