/** Program: a shop that costs as little as possible. Answers every request with a body of a given size. Arguments: the sizes in bytes. Prints a port for each. */
import { createServer, type AddressInfo } from 'node:net'

const ports = await Promise.all(
  process.argv.slice(2).map(async (size) => {
    const head = `HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nCache-Control: private\r\nX-Frame-Options: deny\r\nContent-Length: ${size}\r\n\r\n`
    const answer = Buffer.concat([Buffer.from(head), Buffer.alloc(Number(size), 'x')])
    const server = createServer({ noDelay: true }, (socket) => {
      socket.on('error', () => {}).on('data', () => socket.write(answer))
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    return (server.address() as AddressInfo).port
  }),
)
process.stdout.write(`${ports.join(' ')}\n`)
