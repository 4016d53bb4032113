/** Letters of other alphabets, and the Latin letters that they look like. Based on Unicode's UTS 39, for names of people. */
const alphabets: readonly (readonly [letters: string, latin: string])[] = [
  ['АВЕКМНОРСТУХЅІЈӀаеорсухѕіјӏԛԝһԁ', 'ABEKMHOPCTYXSlJlaeopcyxsijlqwhd'],
  ['ΑΒΕΖΗΙΚΜΝΟΡΤΥΧοναρικυγ', 'ABEZHlKMNOPTYXovapikuy'],
  ['ԱՕՏՍոսօ', 'UOSUnuo'],
  ['ıɑɡI01', 'iaglol'],
];
const lookalikes: ReadonlyMap<string, string> = new Map(
  alphabets.flatMap(([letters, latin]) =>
    Array.from(letters, (letter, at): [string, string] => [letter, latin.charAt(at)]),
  ),
);

/** Names with the same skeleton look alike. A skeleton ignores invisible characters, wide forms, case and alphabet. */
export const skeletonOf = (name: string): string =>
  Array.from(
    name.normalize('NFKC').replaceAll(/\p{Default_Ignorable_Code_Point}/gu, ''),
    letter => lookalikes.get(letter) ?? letter,
  )
    .join('')
    .replaceAll(/\s+/g, ' ')
    .toLowerCase();
