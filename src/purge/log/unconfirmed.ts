/** Names of nodes as the log keeps them; null for none. */
export function toUnconfirmedColumn(nodes: readonly string[]): string | null {
  return nodes.length === 0 ? null : JSON.stringify(nodes)
}

export function fromUnconfirmedColumn(column: string | null): string[] {
  return column === null ? [] : (JSON.parse(column) as string[])
}
