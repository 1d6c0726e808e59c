/** Why the provider did not sign somebody in. */
export type SignInFault = 'denied' | 'expired' | 'unavailable' | 'refused';

/** A failed sign-in. Its fields are constants of the code: no text of the provider, no code, no token. */
export class SignInFailure extends Error {
  constructor(
    readonly fault: SignInFault,
    /** For the log: a code of the library, of a failed request, or of OAuth. */
    readonly reason: string,
  ) {
    super(reason);
  }
}
