import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** Creates a self-signed certificate. `pem` is one file with both, as HAProxy reads it. */
export function createCertificate(directory: string, name: string): { key: string; cert: string; pem: string } {
  const [key, cert, pem] = [join(directory, 'key.pem'), join(directory, 'cert.pem'), join(directory, 'both.pem')]
  const kind = ['-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2']
  execFileSync('openssl', ['req', ...kind, '-subj', `/CN=${name}`, '-keyout', key, '-out', cert], { stdio: 'ignore' })
  writeFileSync(pem, Buffer.concat([readFileSync(cert), readFileSync(key)]), { mode: 0o600 })
  return { key, cert, pem }
}
