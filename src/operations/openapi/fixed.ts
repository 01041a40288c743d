/** What of the API is no operation: logging in, health, this document itself. */

export const securitySchemes = {
  bearer: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT', description: 'A token of POST /api/oauth/token.' },
  client: {
    type: 'oauth2',
    description:
      'The first client is made with `pagecache client:create`, others there too or with POST /api/_action/vendor-cache/clients.',
    flows: {
      clientCredentials: {
        tokenUrl: '/api/oauth/token',
        scopes: { read: 'look at everything', write: 'look at everything and change it' },
      },
    },
  },
}

const meanings: Record<number, string> = {
  400: 'A field is missing or wrong, the body is no JSON, or its media type is another one',
  401: 'The token is missing, malformed, unknown or expired',
  403: "The token's scope does not allow it, or a page of another site asks",
  404: 'What the body or the path names does not exist',
  405: 'The method is not allowed here; `Allow` names those that are',
  409: 'Not possible in the present state',
  413: 'The body is larger than 1 MiB',
  429: 'Too many failures, new clients or keys; `Retry-After` says how long to wait',
  500: 'A fault of the daemon; its log says more',
  503: 'Not possible at the moment, or the daemon is stopping',
}

const extraFields: Record<number, Record<string, unknown>> = {
  401: { 'WWW-Authenticate': { schema: { type: 'string' } } },
  405: { Allow: { schema: { type: 'string' } } },
  429: { 'Retry-After': { schema: { type: 'string' } } },
  503: { 'Retry-After': { schema: { type: 'string' } } },
}

/** Of every answer of the API. */
export const commonFields = {
  'Cache-Control': { schema: { const: 'no-store' } },
  'X-Request-Id': {
    description: "What the daemon's log calls the request",
    schema: { type: 'string' },
    example: '3f0c9a52-6c1e-4b7d-9a0e-5d2f8c417b36',
  },
}

export function errorResponse(status: number): Record<string, unknown> {
  return {
    description: meanings[status] ?? 'Error',
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
    scope: { type: 'string', description: '`read` or `write`; without it all that the client may do' },
  },
}

const request = {
  grant_type: 'client_credentials',
  client_id: '0190c0de-0000-7000-8000-000000000002',
  client_secret: 'the secret that client:create has shown',
}

const oauthError = {
  description: 'RFC 6749 §5.2, with `success` and `message` beside it',
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
      summary: 'Whether the daemon is up',
      tags: ['access'],
      security: [],
      responses: { 200: { description: 'It is; no body' } },
    },
  },
  '/api/_info/openapi.json': {
    get: {
      operationId: 'info.openapi',
      summary: 'This document',
      tags: ['access'],
      security: [],
      responses: {
        200: { description: 'OpenAPI 3.1', content: { 'application/json': { schema: { type: 'object' } } } },
      },
    },
  },
}
