import { stat } from 'node:fs/promises'
import { resolve } from 'node:path'
import { toCustomerKey, withCustomerKey } from '../../auth/customer-key.ts'
import { PagecacheError } from '../../errors.ts'
import { failed, passed, warned, type Check } from './finding.ts'

const name = 'customer tokens'

/** Checks the key file for customer tokens as it is now; a running daemon uses the one from its start or last reload. */
export const checkCustomerToken: Check = async (app) => {
  const { secretFile, publicKeyFile } = app.config.stages.customerToken
  const file = secretFile ?? publicKeyFile
  if (file === null) return []
  try {
    const { algorithm } = toCustomerKey(await withCustomerKey(app.loaded))
    const path = resolve(app.loaded.places.projectDir, file)
    if (secretFile !== null && ((await stat(path)).mode & 0o007) !== 0) {
      return [
        warned(
          name,
          `${path} is readable by every user of this machine, who could sign tokens for any customer.`,
          `chmod o= ${path}`,
        ),
      ]
    }
    return [passed(name, `${algorithm}, ${path}`)]
  } catch (error) {
    if (error instanceof PagecacheError)
      return [failed(name, error.message, error.hint ?? 'Correct the configuration.')]
    throw error
  }
}
