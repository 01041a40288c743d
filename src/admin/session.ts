import { createContext } from 'preact'
import { useContext } from 'preact/hooks'
import type { Api } from './api.ts'

export const Session = createContext<Api | null>(null)

/** The API of who is logged in; only below a `Session.Provider`. */
export function useApi(): Api {
  return useContext(Session)!
}
