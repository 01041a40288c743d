import { withErrorPage } from '../../config/error-page.ts'
import { PagecacheError } from '../../errors.ts'
import { failed, passed, type Check } from './finding.ts'

const name = 'error page'

/** Checks the file of the error page as it is now; a running daemon uses the one from its start or last reload. */
export const checkErrorPage: Check = async (app) => {
  const { errorPage } = app.config
  if (errorPage === null) return []
  try {
    await withErrorPage(app.loaded)
    return [passed(name, errorPage)]
  } catch (error) {
    if (!(error instanceof PagecacheError)) throw error
    return [failed(name, error.message, error.hint ?? 'Correct the configuration.')]
  }
}
