import { isFault } from '../../core/error-cause.ts';
import { VaultError } from '../../core/errors.ts';
import { Secret } from '../../core/secret.ts';
import type { OidcRole } from '../../core/settings.ts';
import { hasCardNumber } from '../../domain/mask/metadata.ts';
import { sourceOf } from '../../domain/text/network.ts';
import type { Limiter } from '../../limits/limiter.ts';
import type { IdentityProvider } from '../../outbound/identity-provider.ts';
import { SignInFailure, type SignInFault } from '../../outbound/sign-in-failure.ts';
import type { RequestContext } from '../../request/context.ts';
import type { RecordEvent } from '../../telemetry/events.ts';
import type { Persons } from '../person/persons.ts';
import { NAME_CHARACTERS_MAX } from '../person/schema.ts';
import type { Challenges, ChallengeUse } from '../session/challenges.ts';
import { readCookie, SIGN_IN_COOKIE, setCookie } from '../session/cookie.ts';
import type { Sessions } from '../session/sessions.ts';
import { type Claims, roleOf } from './roles.ts';

/** The page that the provider sends browsers back to. */
export const OIDC_CALLBACK = '/console/oidc/callback';

/** How long somebody may take at the provider. */
const LIFE_MS = 10 * 60 * 1_000;
const SIGN_IN: ChallengeUse = ['oidc'];

/** Why somebody was not let in. */
export type OidcFault = SignInFault | 'no_access' | 'suspended' | 'busy';

/** The end of a sign-in, with the `Set-Cookie` of its session if there is one. */
export type OidcOutcome =
  | { readonly kind: 'signed_in'; readonly cookie: string }
  | { readonly kind: OidcFault };

/** A failure with what the log gets of it: constants, and names of settings. */
interface Refusal {
  readonly fault: OidcFault;
  readonly reason?: string;
  readonly claims?: string;
}

/** The first text with which the provider calls the person that may be a name of people, in the form that these have. */
function nameOf(claims: Claims, sub: string): string {
  const [name = 'unnamed'] = [claims['name'], claims['preferred_username'], claims['email'], sub]
    .map((text) => (typeof text === 'string' ? text.replaceAll(/\p{Cc}/gu, ' ').trim() : ''))
    .filter((text) => text !== '' && !hasCardNumber(text));
  return name.slice(0, NAME_CHARACTERS_MAX).toWellFormed();
}

/** Sign-ins of people at a provider of OpenID Connect: begun by the console, and finished when the browser comes back. */
export class OidcSignIns {
  constructor(
    private readonly challenges: Challenges,
    private readonly provider: IdentityProvider,
    private readonly roles: readonly OidcRole[],
    private readonly persons: Persons,
    private readonly sessions: Sessions,
    private readonly limiter: Limiter,
    private readonly consoleUrl: string,
    private readonly recordEvent: RecordEvent,
  ) {}

  /** Begins a sign-in: the address at the provider, and the `Set-Cookie` that binds it to the browser. Rejects with `provider_unavailable`. */
  async begin({ ip, requestId }: RequestContext): Promise<{ readonly url: string; readonly cookie: string }> {
    const challenge = this.challenges.make(SIGN_IN, LIFE_MS);
    const proof = new Secret(challenge);
    try {
      const { provider } = this;
      const url = await (provider.isKnown()
        ? provider.signInUrl(proof)
        : this.waiting(ip, () => provider.signInUrl(proof)));
      return { url, cookie: setCookie(this.consoleUrl, SIGN_IN_COOKIE, challenge, LIFE_MS / 1_000) };
    } catch (error) {
      if (error instanceof SignInFailure) {
        const { fault, reason } = error;
        this.recordEvent('oidc_signin_failed', { request_id: requestId, fault, reason });
        throw new VaultError('provider_unavailable');
      }
      throw error;
    }
  }

  /** Finishes a sign-in with the query and the cookies that a browser brings back. A failure is logged. */
  async finish(ctx: RequestContext, query: string, cookies: string): Promise<OidcOutcome> {
    const outcome = await this.signIn(ctx, query, cookies);
    if ('cookie' in outcome) {
      return { kind: 'signed_in', ...outcome };
    }
    this.recordEvent('oidc_signin_failed', { request_id: ctx.requestId, ...outcome });
    return { kind: outcome.fault };
  }

  /** The address that ends the session at the provider, and leads back to the console; undefined if there is none, or it is down. */
  signOutUrl(): Promise<string | undefined> {
    return this.provider.signOutUrl(`${this.consoleUrl}/console`);
  }

  private async signIn(
    ctx: RequestContext,
    query: string,
    cookies: string,
  ): Promise<{ readonly cookie: string } | Refusal> {
    const value = readCookie(this.consoleUrl, SIGN_IN_COOKIE, cookies);
    const isOpen = value !== undefined && this.challenges.isOpen(SIGN_IN, value);
    if (!isOpen || !(await this.challenges.take(value))) {
      return { fault: 'expired', reason: 'unknown_sign_in' };
    }
    const proof = new Secret(value);
    try {
      const { iss, sub, claims } = await this.waiting(ctx.ip, () => this.provider.finish(query, proof));
      const found = roleOf(this.roles, claims);
      if (found === undefined) {
        return { fault: 'no_access', claims: this.toldOf(claims) };
      }
      const { account, role } = found;
      const person = await this.persons.fromOidc(ctx, { account, role, iss, sub, name: nameOf(claims, sub) });
      const { cookie } = await this.sessions.open(ctx, person, { kind: 'oidc' });
      return { cookie };
    } catch (error) {
      if (error instanceof SignInFailure) {
        return { fault: error.fault, reason: error.reason };
      }
      if (error instanceof VaultError && error.code === 'account_suspended') {
        return { fault: 'suspended' };
      }
      if (error instanceof VaultError && error.code === 'unauthenticated') {
        return { fault: 'no_access', reason: 'account_unknown' };
      }
      if (error instanceof VaultError && !isFault(error)) {
        return { fault: 'busy', reason: error.code };
      }
      throw error;
    }
  }

  /** Waits for the provider as one of few. Rejects with `overloaded`. */
  private waiting<T>(ip: string, work: () => Promise<T>): Promise<T> {
    return this.limiter.run('signIn', sourceOf(ip), work);
  }

  /** The names of the claims in the settings that the provider has told. */
  private toldOf(claims: Claims): string {
    const names = new Set(
      this.roles.map(({ claim }) => claim).filter((claim) => Object.hasOwn(claims, claim)),
    );
    return [...names].join(' ');
  }
}
