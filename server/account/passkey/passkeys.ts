import type { Audit } from '../../audit/audit.ts';
import type { AuditAction } from '../../audit/schema.ts';
import type { Clock } from '../../core/clock.ts';
import { type ErrorCode, VaultError } from '../../core/errors.ts';
import type { Secret } from '../../core/secret.ts';
import type { PeopleSettings } from '../../core/settings.ts';
import { requireName } from '../../domain/mask/metadata.ts';
import type { AccountContext, RequestContext } from '../../request/context.ts';
import { personOf } from '../../request/permission.ts';
import { type Persons, shownOf } from '../person/persons.ts';
import type { KnownPerson, PasskeyRecord, PersonRecords } from '../person/records.ts';
import type { Person } from '../person/schema.ts';
import type { PersonName } from '../person/store.ts';
import type { Challenges, ChallengeUse } from '../session/challenges.ts';
import type { Sessions } from '../session/sessions.ts';
import {
  CHALLENGE_MS,
  challengeOf,
  creationOptions,
  type PasskeySite,
  requestOptions,
  verifyNewPasskey,
  verifySignIn,
} from './ceremonies.ts';
import type { NewPasskeyAnswer, PasskeyAnswer } from './ceremony-schema.ts';

const DEFAULT_NAME = 'Passkey';
const SIGN_IN: ChallengeUse = ['signin'];

/** A sign-in: the `Set-Cookie` of its session, the person, and the passkey that it used. */
export interface PasskeySession {
  readonly cookie: string;
  readonly person: Person;
  readonly passkeyId: string;
}

/** Adds passkeys to people, and signs people in with them. */
export class Passkeys {
  constructor(
    private readonly challenges: Challenges,
    private readonly persons: Persons,
    private readonly records: PersonRecords,
    private readonly sessions: Sessions,
    private readonly audit: Audit,
    private readonly settings: PeopleSettings,
    private readonly now: Clock,
  ) {}

  /** The site of this vault's passkeys. Throws `people_unavailable` where there can be none. */
  site(): PasskeySite {
    const { consoleUrl, flaw } = this.settings;
    if (consoleUrl === undefined || flaw !== undefined) {
      throw new VaultError('people_unavailable');
    }
    return { origin: consoleUrl, rpId: new URL(consoleUrl).hostname };
  }

  /** Begins to accept an invitation. Rejects with `invitation_gone` or `account_suspended`. */
  async invitationOptions(token: Secret<string>) {
    const person = await this.persons.invited(token);
    return { person, options: await this.makeOptions(person, 'invitation') };
  }

  /** Accepts an invitation with a new passkey, and signs the person in. Of two requests at one instant one succeeds. */
  async accept(
    ctx: RequestContext,
    token: Secret<string>,
    name: string | undefined,
    answer: NewPasskeyAnswer,
  ): Promise<PasskeySession> {
    const person = await this.persons.invited(token);
    const passkey = await this.makePasskey(person, 'invitation', name, answer).catch((error: unknown) => {
      this.log(ctx, 'person.passkey.add', 'passkey_refused', person.name);
      throw error;
    });
    const added = await this.persons.addPasskey(ctx, person, passkey, token);
    return this.open(ctx, added, passkey.id);
  }

  /** Begins to add a passkey to the person that acts. Rejects with `sign_in_again`. */
  async ownOptions(ctx: AccountContext) {
    const person = await this.findOwn(ctx);
    return { options: await this.makeOptions(person, 'passkey') };
  }

  /** Adds a passkey to the person that acts. */
  async add(ctx: AccountContext, name: string | undefined, answer: NewPasskeyAnswer): Promise<PasskeyRecord> {
    const person = await this.findOwn(ctx);
    const passkey = await this.makePasskey(person, 'passkey', name, answer);
    await this.persons.addPasskey(ctx, person, passkey);
    return passkey;
  }

  /** Begins a sign-in of anybody: the browser asks which of its passkeys to use. */
  async signInOptions() {
    return { options: await requestOptions(this.site(), this.challenges.make(SIGN_IN, CHALLENGE_MS)) };
  }

  /**
   * Signs a person in. Rejects with `unauthenticated` whatever is wrong, and logs that; only who has the passkey learns that its account
   * is suspended.
   */
  async signIn(ctx: RequestContext, answer: PasskeyAnswer): Promise<PasskeySession> {
    const site = this.site();
    const challenge = challengeOf(answer.response.clientDataJSON);
    const found = await this.persons.byPasskey(answer.id);
    if (challenge === undefined || !this.challenges.isOpen(SIGN_IN, challenge) || found === undefined) {
      throw this.rejected(ctx, found?.person.name);
    }
    const { person, passkey } = found;
    const counter = await verifySignIn(site, answer, challenge, person.name, passkey);
    if (counter === undefined || !(await this.challenges.take(challenge))) {
      throw this.rejected(ctx, person.name);
    }
    // A passkey that does not count always sends 0.
    const counts = counter > 0 || passkey.counter > 0;
    const state = counts ? await this.persons.notePasskeyUse(person, passkey.id, counter) : 'ok';
    if (state !== 'ok') {
      // Two that count cannot both be the one that was registered.
      const isCopy = state === 'older' && counter > 0;
      throw this.rejected(ctx, person.name, isCopy ? 'passkey_cloned' : 'unauthenticated');
    }
    return this.open(ctx, person, passkey.id);
  }

  private async open(ctx: RequestContext, known: KnownPerson, passkeyId: string): Promise<PasskeySession> {
    const { cookie, person } = await this.sessions.open(ctx, known, { kind: 'passkey', passkeyId });
    return { cookie, person: shownOf(person, this.now()), passkeyId };
  }

  /** Makes options for a person, whose challenge is good for it alone. */
  private makeOptions(person: KnownPerson, ceremony: 'invitation' | 'passkey') {
    const { name, record } = person;
    const owner = { id: name.id, name: record.name, account: record.account };
    const challenge = this.challenges.make(useOf(ceremony, name), CHALLENGE_MS);
    return creationOptions(this.site(), owner, record.passkeys, challenge);
  }

  /** Verifies a new passkey. Rejects with `passkey_refused` whatever is wrong. */
  private async makePasskey(
    { name: person }: KnownPerson,
    ceremony: 'invitation' | 'passkey',
    name = DEFAULT_NAME,
    answer: NewPasskeyAnswer,
  ): Promise<PasskeyRecord> {
    requireName(name);
    const challenge = challengeOf(answer.response.clientDataJSON);
    const isOpen = challenge !== undefined && this.challenges.isOpen(useOf(ceremony, person), challenge);
    const made = isOpen ? await verifyNewPasskey(this.site(), answer, challenge) : undefined;
    if (made === undefined || challenge === undefined || !(await this.challenges.take(challenge))) {
      throw new VaultError('passkey_refused', { field: 'body.response' });
    }
    return { ...made, name, created_at: new Date(this.now()).toISOString() };
  }

  /** The person that acts, as it is stored now, if it has signed in lately. */
  private async findOwn({ account }: AccountContext): Promise<KnownPerson> {
    const { id } = personOf(account);
    this.sessions.requireRecent(account);
    const person = await this.records.find({ aid: account.aid, id });
    if (person === undefined) {
      throw new VaultError('unauthenticated');
    }
    if (person.record.oidc !== undefined) {
      throw new VaultError('person_of_provider');
    }
    return person;
  }

  /** Logs a rejected sign-in, and returns its error. */
  private rejected(
    ctx: RequestContext,
    person: PersonName | undefined,
    outcome: ErrorCode = 'unauthenticated',
  ): VaultError {
    this.log(ctx, 'person.signin', outcome, person);
    return new VaultError('unauthenticated');
  }

  /** Logs a rejection later than the reply, whose time would otherwise reveal whether the passkey is known. */
  private log(
    { ip, userAgent, requestId }: RequestContext,
    action: AuditAction,
    outcome: ErrorCode,
    person: PersonName | undefined,
  ): void {
    const object = person === undefined ? 'person' : `person/${person.id}`;
    this.audit.recordSoon({
      ...{ aid: person?.aid ?? '', action, outcome, actor: 'anonymous', object },
      ...{ ip, userAgent, requestId },
    });
  }
}

function useOf(ceremony: 'invitation' | 'passkey', { aid, id }: PersonName): ChallengeUse {
  return [ceremony, aid, id];
}
