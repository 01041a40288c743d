const none = { count: 0, spaceSaved: 0, avgGenerationTime: 0, avgCacheHitTime: 0 }

/** The statistics of an empty cache: every field, with zeros. */
export const emptyStatistics = {
  totalFiles: 0,
  totalSize: 0,
  totalSizeFormatted: '0 B',
  byType: { products: 0, buybox: 0, categories: 0, listings: 0, cms: 0 },
  aggregated: {
    totalPages: 0,
    totalOriginalSize: 0,
    totalCachedSize: 0,
    totalSpaceSaved: 0,
    avgGenerationTime: 0,
    avgCacheHitTime: 0,
    compressionEnabled: true,
  },
  byTypeDetailed: { product: none, category: none, cms: none, listing: none, buybox: none },
}
