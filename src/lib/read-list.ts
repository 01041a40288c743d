/** A part of a list, and the length of the whole list. */
export interface ListPart<Item> {
  total: number
  items: readonly Item[]
}

/** The longest part of a list that the API returns. */
const longestPart = 1000

/**
 * Reads a whole list in parts. Each part overlaps the previous one by an item. If it begins with an unknown item instead, earlier items
 * were deleted and some have moved up between the parts: the previous part is read again.
 */
export async function readList<Item>(
  read: (page: { limit: number; offset: number }) => Promise<ListPart<Item>>,
  idOf: (item: Item) => string,
): Promise<Item[]> {
  const found = new Map<string, Item>()
  for (let offset = 0, step = 0; ;) {
    const { total, items } = await read({ limit: longestPart, offset })
    const [first] = items
    if (offset > 0 && (first === undefined || !found.has(idOf(first)))) {
      offset = Math.max(0, offset - step)
      continue
    }
    for (const item of items) found.set(idOf(item), item)
    if (items.length < 2 || offset + items.length >= total) return [...found.values()]
    step = items.length - 1
    offset += step
  }
}
