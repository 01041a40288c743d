import { BuiltFile } from './built-file.ts'
import { refuse, type StageVisit } from './stage-visit.ts'

/** Browsers ask for it again after ten minutes. */
const script = new BuiltFile('stages/client.js', { 'Cache-Control': 'public, max-age=600', 'Content-Type': 'text/javascript; charset=utf-8' })

/** `GET /vendor-stage/client.js`: the storefront script. */
export async function serveStageScript(visit: StageVisit): Promise<void> {
  await script.serve(visit.request, visit.response).catch(() => refuse(visit, 500, 'Something went wrong here.'))
}
