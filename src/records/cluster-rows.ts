/** The tables of a cluster of nodes. */
export interface ClusterTables {
  cluster_secrets: ClusterSecretRow
}

interface ClusterSecretRow {
  /** What it is used for. */
  name: string
  /** In base64url. */
  value: string
}
