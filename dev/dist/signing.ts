/**
 * Decides from the environment whether `npm run dist` signs the packages. Secrets stay in the environment, where
 * electron-builder reads them: arguments are visible to all users of the machine.
 */

type Environment = Readonly<Record<string, string | undefined>>;

export interface Signing {
  readonly isSigned: boolean;
  /** Settings for electron-builder, without secrets. */
  readonly settings: Readonly<Record<string, string>>;
}

/**
 * Variables that name the account of Azure Trusted Signing, with electron-builder's setting for each. electron-builder reads the
 * credentials (`AZURE_CLIENT_SECRET`) itself.
 */
const azure = {
  AZURE_SIGNING_ENDPOINT: 'endpoint',
  AZURE_SIGNING_ACCOUNT: 'codeSigningAccountName',
  AZURE_SIGNING_PROFILE: 'certificateProfileName',
  AZURE_SIGNING_PUBLISHER: 'publisherName',
} as const;

const isSet = (environment: Environment, name: string): boolean => (environment[name] ?? '') !== '';

/** Plans the signing. Throws if a set of variables is incomplete, because the build would otherwise silently be unsigned. */
export function planSigning(platform: string, environment: Environment): Signing {
  const azureSettings = platform === 'win32' ? planAzure(environment) : {};
  const hasCertificate =
    platform === 'win32'
      ? isSet(environment, 'WIN_CSC_LINK') || isSet(environment, 'CSC_LINK')
      : platform === 'darwin' && (isSet(environment, 'CSC_LINK') || isSet(environment, 'CSC_NAME'));
  const isSigned = hasCertificate || Object.keys(azureSettings).length > 0;
  return {
    isSigned,
    settings: {
      ...azureSettings,
      // The app reads this from its package.json, to mark unsigned builds in its "About" dialog.
      'extraMetadata.trainyard.signed': String(isSigned),
      // A failed signature must fail the build, because the app would claim to be signed.
      forceCodeSigning: String(isSigned),
      ...(platform === 'darwin' && { 'mac.notarize': String(isSigned && canNotarize(environment)) }),
    },
  };
}

function planAzure(environment: Environment): Readonly<Record<string, string>> {
  const names = Object.keys(azure);
  const missing = names.filter(name => !isSet(environment, name));
  if (missing.length === names.length) return {};
  if (missing.length > 0) throw new Error(`to sign with Azure, also set ${missing.join(', ')}`);
  return Object.fromEntries(
    Object.entries(azure).map(([name, setting]) => [
      `win.azureSignOptions.${setting}`,
      environment[name] ?? '',
    ]),
  );
}

/** Alternative sets of variables. Apple's notary service needs one complete set. */
const notaryCredentials = [
  ['APPLE_API_KEY', 'APPLE_API_KEY_ID', 'APPLE_API_ISSUER'],
  ['APPLE_ID', 'APPLE_APP_SPECIFIC_PASSWORD', 'APPLE_TEAM_ID'],
  ['APPLE_KEYCHAIN_PROFILE'],
];

function canNotarize(environment: Environment): boolean {
  const startedSets = notaryCredentials.filter(names => names.some(name => isSet(environment, name)));
  const isComplete = startedSets.some(names => names.every(name => isSet(environment, name)));
  if (startedSets.length > 0 && !isComplete) {
    const missing = startedSets.flat().filter(name => !isSet(environment, name));
    throw new Error(`to notarize the app, also set ${missing.join(', ')}`);
  }
  return isComplete;
}
