import { useState } from 'preact/hooks'
import { logIn, type Renew, type Session } from './api.ts'

export function Login({ why, onSession }: { why: string; onSession(session: Session, renew: Renew): void }) {
  const [error, setError] = useState(why)
  const [busy, setBusy] = useState(false)
  const submit = async (event: SubmitEvent) => {
    event.preventDefault()
    if (busy) return
    const given = new FormData(event.currentTarget as HTMLFormElement)
    setBusy(true)
    setError('')
    try {
      const { session, renew } = await logIn(String(given.get('id')).trim(), String(given.get('secret')).trim())
      onSession(session, renew)
    } catch (failure) {
      setError((failure as Error).message)
      setBusy(false)
    }
  }
  return (
    <main class="login">
      <form onSubmit={submit}>
        <h1>pagecache</h1>
        <p class="soft">{location.host}</p>
        <label>
          <span>Client ID</span>
          <input name="id" required autocomplete="username" spellcheck={false} autofocus />
        </label>
        <label>
          <span>Client secret</span>
          <input name="secret" type="password" required autocomplete="current-password" />
        </label>
        <button type="submit" class="main" aria-disabled={busy}>
          {busy ? 'Logging in …' : 'Log in'}
        </button>
        <p role="alert" class="failed">
          {error}
        </p>
        <p class="soft">
          Create a client on the server: <code>pagecache client:create NAME</code>. The login lasts until you log out,
          close the browser, or twelve hours have passed.
        </p>
      </form>
    </main>
  )
}
