/** Endpoints that are not operations: tokens, health check, the document itself. */

export const securitySchemes = {
  bearer: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT', description: 'A token from POST /api/oauth/token.' },
  client: {
    type: 'oauth2',
    description:
      'Create the first client with `pagecache client:create`, and others there or with POST /api/_action/vendor-cache/clients.',
    flows: {
      clientCredentials: {
        tokenUrl: '/api/oauth/token',
        scopes: { read: 'read-only access', write: 'read and write access' },
      },
    },
  },
}

const descriptions: Record<number, string> = {
  400: 'A field is missing or invalid, or the body is not JSON',
  401: 'The token is missing, malformed, unknown or expired',
  403: 'The token lacks the required scope, or the request comes from another site',
  404: 'The resource named by path or body does not exist',
  405: 'The method is not allowed; `Allow` lists the allowed ones',
  409: 'Not possible in the current state',
  413: 'The body is larger than 1 MiB',
  429: 'Too many failed logins, new clients or keys; see `Retry-After`',
  500: 'Internal error; see the log of the daemon',
  503: 'Temporarily unavailable, or the daemon is stopping',
}

const extraFields: Record<number, Record<string, unknown>> = {
  401: { 'WWW-Authenticate': { schema: { type: 'string' } } },
  405: { Allow: { schema: { type: 'string' } } },
  429: { 'Retry-After': { schema: { type: 'string' } } },
  503: { 'Retry-After': { schema: { type: 'string' } } },
}

/** Headers of every API response. */
export const commonFields = {
  'Cache-Control': { schema: { const: 'no-store' } },
  'X-Request-Id': {
    description: "Id of the request in the daemon's log",
    schema: { type: 'string' },
    example: '3f0c9a52-6c1e-4b7d-9a0e-5d2f8c417b36',
  },
}

export function errorResponse(status: number): Record<string, unknown> {
  return {
    description: descriptions[status] ?? 'Error',
    headers: { ...commonFields, ...extraFields[status] },
    content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } },
  }
}

const credentials = {
  type: 'object',
  required: ['grant_type', 'client_id', 'client_secret'],
  properties: {
    grant_type: { const: 'client_credentials' },
    client_id: { type: 'string' },
    client_secret: { type: 'string' },
    scope: { type: 'string', description: "`read` or `write`; default: the client's full access" },
  },
}

const request = {
  grant_type: 'client_credentials',
  client_id: '0190c0de-0000-7000-8000-000000000002',
  client_secret: 'the secret shown by client:create',
}

const oauthError = {
  description: 'RFC 6749 §5.2, plus `success` and `message`',
  headers: commonFields,
  content: {
    'application/json': {
      schema: {
        type: 'object',
        required: ['error', 'error_description', 'success', 'message'],
        properties: {
          error: { type: 'string' },
          error_description: { type: 'string' },
          success: { const: false },
          message: { type: 'string' },
        },
      },
      example: {
        error: 'invalid_client',
        error_description: 'Wrong client ID or secret.',
        success: false,
        message: 'Wrong client ID or secret.',
      },
    },
  },
}

export const fixedPaths = {
  '/api/oauth/token': {
    post: {
      operationId: 'oauth.token',
      summary: 'Issues a token to a client',
      tags: ['access'],
      security: [],
      requestBody: {
        required: true,
        content: {
          'application/json': { schema: credentials, example: request },
          'application/x-www-form-urlencoded': { schema: credentials, example: request },
        },
      },
      responses: {
        200: {
          description: 'The token',
          headers: commonFields,
          content: {
            'application/json': {
              schema: {
                type: 'object',
                required: ['token_type', 'expires_in', 'access_token'],
                properties: {
                  token_type: { const: 'Bearer' },
                  expires_in: { type: 'integer', description: 'seconds' },
                  access_token: { type: 'string' },
                },
              },
              example: { token_type: 'Bearer', expires_in: 600, access_token: 'eyJhbGciOiJFZERTQSJ9...' },
            },
          },
        },
        ...Object.fromEntries([400, 401, 403, 405, 429, 503].map((status) => [status, oauthError])),
        ...Object.fromEntries([413, 500].map((status) => [status, errorResponse(status)])),
      },
    },
  },
  '/api/_info/health-check': {
    get: {
      operationId: 'info.healthCheck',
      summary: 'Reports whether the daemon is running',
      tags: ['access'],
      security: [],
      responses: { 200: { description: 'The daemon is running; no body' } },
    },
  },
  '/api/_info/openapi.json': {
    get: {
      operationId: 'info.openapi',
      summary: 'Returns this document',
      tags: ['access'],
      security: [],
      responses: {
        200: { description: 'OpenAPI 3.1', content: { 'application/json': { schema: { type: 'object' } } } },
      },
    },
  },
}
