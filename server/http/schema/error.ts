import { type Static, Type } from '@sinclair/typebox';

/** The body of every error reply. `error` is for humans, `code` for programs; `field` names a place, never a value. */
export const ErrorBody = Type.Object(
  {
    error: Type.String({ description: 'A message for humans. The wording may change.' }),
    code: Type.String({
      description: 'The stable error code; /guide/errors explains each code and what to do.',
    }),
    request_id: Type.String({
      description: 'The value of the X-Request-Id header; quote it in support requests.',
    }),
    field: Type.Optional(
      Type.String({
        description: 'The part of the request at fault, such as `query.user` or `body.passphrase`.',
      }),
    ),
  },
  { $id: 'Error', description: 'The body of every error reply.' },
);
export type ErrorBody = Static<typeof ErrorBody>;
