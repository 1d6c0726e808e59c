import { type Static, Type } from '@sinclair/typebox';

/** The body of every refusal. `error` is for people, `code` for programs, `field` names a place and never a value. */
export const ErrorBody = Type.Object(
  {
    error: Type.String({ description: 'One sentence for a person. The wording may change.' }),
    code: Type.String({ description: 'Stable; /guide/errors says what each means and what to do about it.' }),
    request_id: Type.String({
      description: 'The same as the X-Request-Id header; quote it when you ask for help.',
    }),
    field: Type.Optional(
      Type.String({ description: 'The place of the fault, such as `query.user` or `body.passphrase`.' }),
    ),
  },
  { $id: 'Error', description: 'The body of every refusal.' },
);
export type ErrorBody = Static<typeof ErrorBody>;
