//! From starting the program to a server that listens.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Instant;

use anyhow::Result;

use super::Spread;
use crate::product::Product;

/// Starts a server again and again on one data directory; the first start makes it and does not count.
pub async fn measure(folder: &Path, times: usize) -> Result<Spread> {
    let home = folder.join("startup");
    Product::start(&home, &BTreeMap::new()).await?.stop().await?;
    let mut millis = Vec::with_capacity(times);
    for _ in 0..times {
        let begun = Instant::now();
        let product = Product::start(&home, &BTreeMap::new()).await?;
        millis.push(begun.elapsed().as_secs_f64() * 1000.0);
        product.stop().await?;
    }
    Ok(Spread::of(millis))
}
