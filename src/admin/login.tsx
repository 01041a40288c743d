import { useState } from 'preact/hooks'
import { logIn, type Api } from './api.ts'

export function Login({ onApi }: { onApi(api: Api): void }) {
  const [error, setError] = useState('')
  const [busy, setBusy] = useState(false)
  const submit = async (event: SubmitEvent) => {
    event.preventDefault()
    const given = new FormData(event.currentTarget as HTMLFormElement)
    setBusy(true)
    setError('')
    try {
      onApi(await logIn(String(given.get('id')).trim(), String(given.get('secret')).trim()))
    } catch (failure) {
      setError((failure as Error).message)
      setBusy(false)
    }
  }
  return (
    <main class="login">
      <form onSubmit={submit}>
        <h1>pagecache</h1>
        <label>
          <span>Client id</span>
          <input name="id" required autocomplete="username" spellcheck={false} autofocus />
        </label>
        <label>
          <span>Client secret</span>
          <input name="secret" type="password" required autocomplete="current-password" />
        </label>
        <button type="submit" class="main" disabled={busy}>
          {busy ? 'Logging in …' : 'Log in'}
        </button>
        <p role="alert" class="failed">
          {error}
        </p>
        <p class="soft">
          A client is made on the server: <code>pagecache client:create NAME</code>. It is kept in this page alone and
          forgotten when you leave.
        </p>
      </form>
    </main>
  )
}
