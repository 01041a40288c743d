/** Program: h3 reading a small JSON body and answering, as the rival of tracking. Argument: port. */
import { createServer } from 'node:http'
import { H3, readBody } from 'h3'
import { toNodeHandler } from 'h3/node'

const app = new H3()
app.post('/vendor-stage/track', async (event) => {
  await readBody(event)
  return { success: true }
})
createServer(toNodeHandler(app)).listen(Number(process.argv[2]), '127.0.0.1')
