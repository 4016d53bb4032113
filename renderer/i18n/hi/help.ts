import type { help as source } from '../en/help.ts';

export const help: Readonly<Record<keyof typeof source, string>> = {
  'help.keys': 'कुंजियाँ',
  'help.keyHelp': 'इस पेज पर',
  'help.keyTab': 'अगले लिंक, बटन या पंक्ति पर',
  'help.keyRows': 'तालिका की अगली या पिछली पंक्ति पर',
  'help.keyOpen': 'पंक्ति खोलती है',
  'help.keyClose': 'डायलॉग या मेनू बंद करती है',
  'help.terminal': 'टर्मिनल में',
  'help.doctor': 'इस मशीन पर, ऑर्केस्ट्रेटर तक के रास्ते में और वहाँ, क्या गड़बड़ है यह देखता है:',
  'help.api': 'API के सभी कॉल, स्क्रिप्ट के लिए',
  'help.diagnostics': 'रिपोर्ट के लिए',
  'help.diagnosticsNote': 'गड़बड़ी समझने में जो मदद करे। इसमें किसी वर्कर, जॉब या टोकन का नाम नहीं होता।',
  'help.keyPalette': 'किसी भी पेज, वर्कर या जॉब पर',
  'help.keyGo': 'सारांश, वर्कर, जॉब, कतार, ऑडिट, सेटिंग या इस पेज पर',
  'help.keyFilter': 'पेज के फ़िल्टर पर',
};
