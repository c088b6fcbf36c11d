//! JSON text on its way to a `str`.

pub mod buffer;
pub mod escape;

pub use buffer::Buffer;
