import type { audit as source } from '../en/audit.ts';

export const audit: Readonly<Record<keyof typeof source, string>> = {
  'audit.type': 'क्या',
  'audit.target': 'किस पर',
  'audit.actor': 'किसने',
  'audit.at': 'कब',
  'audit.seq': 'क्र.',
  'audit.details': 'विवरण',
  'audit.count': '{count, plural, one {# पंक्ति} other {# पंक्तियाँ}}',
  'audit.none': 'अभी तक कुछ नहीं किया गया।',
  'audit.noMatch': 'ऐसी कोई पंक्ति नहीं है। “किसने” और “किस पर” का मिलान पूरा किया जाता है।',
  'audit.more': 'और पुरानी पंक्तियाँ दिखाएँ',
  'audit.verify': 'अभी जाँचें',
  'audit.verifying': 'पूरा ऑडिट रिकॉर्ड पढ़ा जा रहा है',
  'audit.whole': '{count, plural, one {# पंक्ति, जैसी लिखी गई थी} other {# पंक्तियाँ, सभी जैसी लिखी गई थीं}}',
  'audit.broken': 'पंक्ति {seq, number}: {problem}',
  'audit.anyType': 'सब कुछ',
  'audit.since': 'इस समय से',
  'audit.until': 'इस समय तक',
  'audit.export': 'JSON पंक्तियों के रूप में निर्यात करें',
  'audit.trimmed': 'पंक्ति {seq, number} तक की पंक्तियाँ पुरानी होने के कारण हटा दी गईं।',
};
