import { createContext } from 'preact'
import { useContext } from 'preact/hooks'
import type { Api } from './api.ts'

export const ApiContext = createContext<Api | null>(null)

/** The API of the logged-in client; only below an `ApiContext.Provider`. */
export function useApi(): Api {
  return useContext(ApiContext)!
}
