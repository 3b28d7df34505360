//! demo
fn main(){}
