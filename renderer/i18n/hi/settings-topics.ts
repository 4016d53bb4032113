import type { SettingsKey } from '../en/settings-topics.ts';

export const settingsTopics: Readonly<Record<SettingsKey, string>> = {
  'topics.label': 'विषय',
  'topics.choose': 'विषय',
  'topics.general': 'सामान्य',
  'topics.account': 'खाता',
  'topics.data': 'डेटा और बैकअप',
  'topics.access': 'एक्सेस',
  'topics.search': 'सेटिंग खोजें',
  'topics.search.results': 'मिली हुई सेटिंग',
  'topics.search.count': '{count, plural, one {# सेटिंग मिली} other {# सेटिंग मिलीं}}',
  'topics.search.none': '“{query}” से कोई सेटिंग मेल नहीं खाती।',
  'topics.queue.title': 'क्रम और रोक',
  'topics.queue.explain': 'कतार का पेज प्रतीक्षारत जॉब का क्रम दिखाता है। आप वहाँ कतार को रोक भी सकते हैं।',
  'topics.queue.page': 'कतार खोलें',
  'topics.workers.title': 'दूसरी मशीनें',
  'topics.workers.explain': 'वर्कर का पेज सभी मशीनें दिखाता है। उन्हें वहीं जोड़ें, नाम और लेबल दें, ड्रेन करें और हटाएँ।',
  'topics.workers.page': 'वर्कर खोलें',
  'topics.pools.explain':
    'जब जॉब प्रतीक्षा करते हैं, तब पूल किसी क्लस्टर या क्लाउड से मशीनें मँगाता है। उसके पेज पर उसकी सीमाएँ, बजट और समय होते हैं।',
  'topics.pools.none': 'अभी कोई पूल नहीं है।',
  'topics.pools.edit': 'बदलें',
  'topics.pools.edit.of': 'पूल {name} बदलें',
  'topics.pools.page': 'पूल खोलें',
  'topics.data.title': 'डेटासेट',
  'topics.data.explain': 'डेटा का पेज डेटासेट और उनकी जगह दिखाता है। पुराने संस्करण आप वहाँ हटा सकते हैं।',
  'topics.data.page': 'डेटासेट खोलें',
};
