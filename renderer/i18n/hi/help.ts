import type { help as source } from '../en/help.ts';

export const help: Readonly<Record<keyof typeof source, string>> = {
  'help.keys': 'कीबोर्ड शॉर्टकट',
  'help.keyHelp': 'इस पेज पर जाएँ',
  'help.keyTab': 'अगले लिंक, बटन या पंक्ति पर जाएँ',
  'help.keyRows': 'तालिका की अगली या पिछली पंक्ति पर जाएँ',
  'help.keyOpen': 'पंक्ति खोलें',
  'help.keyClose': 'डायलॉग या मेनू बंद करें',
  'help.terminal': 'टर्मिनल में',
  'help.doctor': 'इस मशीन, ऑर्केस्ट्रेटर तक के कनेक्शन और ऑर्केस्ट्रेटर की जाँच करता है:',
  'help.api': 'API संदर्भ, स्क्रिप्ट के लिए',
  'help.diagnostics': 'बग रिपोर्ट के लिए',
  'help.diagnosticsNote': 'समस्या का कारण खोजने में मदद करने वाली जानकारी। इसमें वर्कर या जॉब के नाम और टोकन नहीं होते।',
  'help.keyPalette': 'किसी भी पेज, वर्कर या जॉब पर जाएँ',
  'help.keyGo': 'अवलोकन, वर्कर, जॉब, कतार, ऑडिट, सेटिंग या इस पेज पर जाएँ',
  'help.keyFilter': 'पेज के फ़िल्टर पर जाएँ',
};
