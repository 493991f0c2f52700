package detect

import "bytes"

// digitsOf returns the values of the digits of a text, without whatever stands between them.
func digitsOf(text []byte) (digits []int) {
	for _, c := range text {
		if isDigit(c) {
			digits = append(digits, int(c-'0'))
		}
	}
	return digits
}

// differ reports whether not all digits are the same, as in examples.
func differ(digits []int) bool {
	for _, d := range digits {
		if d != digits[0] {
			return true
		}
	}
	return false
}

// weigh returns the sum of the first digits, each times its weight.
func weigh(digits []int, weights ...int) (sum int) {
	for i, w := range weights {
		sum += digits[i] * w
	}
	return sum
}

// weighted returns the check of digits whose sum by weights leaves that remainder.
func weighted(modulus, remainder int, weights ...int) func([]int) bool {
	return func(digits []int) bool {
		return len(digits) == len(weights) && weigh(digits, weights...)%modulus == remainder
	}
}

// numberOf returns the number that digits write.
func numberOf(digits []int) (n int) {
	for _, d := range digits {
		n = n*10 + d
	}
	return n
}

// dated reports whether digits are a day, a month and a year in some order, of which the month begins at a place.
func dated(digits []int, month, day int) bool {
	m, d := numberOf(digits[month:month+2]), numberOf(digits[day:day+2])
	return m >= 1 && m <= 12 && d >= 1 && d <= 31
}

func luhnDigits(digits []int) bool {
	sum := 0
	for i, d := range digits {
		if (len(digits)-i)%2 == 0 {
			if d *= 2; d > 9 {
				d -= 9
			}
		}
		sum += d
	}
	return sum%10 == 0
}

// verhoeff checks digits by the dihedral group of order ten (Verhoeff, 1969).
func verhoeff(digits []int) bool {
	permuted := [...]int{1, 5, 7, 6, 2, 8, 3, 0, 9, 4}
	sum := 0
	for i := range digits {
		d := digits[len(digits)-1-i]
		for range i % 8 {
			d = permuted[d]
		}
		switch { // the product of sum and d
		case sum < 5 && d < 5:
			sum = (sum + d) % 5
		case sum < 5:
			sum = (sum+d-5)%5 + 5
		case d < 5:
			sum = (sum-5-d+5)%5 + 5
		default:
			sum = (sum - d + 5) % 5
		}
	}
	return sum == 0
}

// mod1110 checks digits by ISO/IEC 7064, MOD 11,10.
func mod1110(digits []int) bool {
	last := digits[len(digits)-1]
	before := 10
	for _, d := range digits[:len(digits)-1] {
		if before = (before + d) % 10; before == 0 {
			before = 10
		}
		before = before * 2 % 11
	}
	return (11-before)%10 == last
}

func socialSecurity(d []int) bool {
	area, group, serial := numberOf(d[:3]), numberOf(d[3:5]), numberOf(d[5:])
	return area != 0 && area != 666 && area < 900 && group != 0 && serial != 0 && numberOf(d) != 123456789 && numberOf(d) != 78051120
}

func french(d []int) bool { return 97-numberOf(d[:13])%97 == numberOf(d[13:]) }

func portuguese(d []int) bool {
	check := 11 - weigh(d, 9, 8, 7, 6, 5, 4, 3, 2)%11
	return check%11%10 == d[8]
}

func belgian(d []int) bool {
	n, check := numberOf(d[:9]), numberOf(d[9:])
	return 97-n%97 == check || 97-(2000000000+n)%97 == check
}

func czech(d []int) bool { return len(d) == 10 && numberOf(d)%11 == 0 }

func romanian(d []int) bool {
	check := weigh(d, 2, 7, 9, 1, 4, 6, 3, 5, 8, 2, 7, 9) % 11
	return check%10+check/10 == d[12] && dated(d, 3, 5)
}

func bulgarian(d []int) bool { return weigh(d, 2, 4, 8, 5, 10, 9, 7, 3, 6)%11%10 == d[9] }

func baltic(d []int) bool {
	check := weigh(d, 1, 2, 3, 4, 5, 6, 7, 8, 9, 1) % 11
	if check == 10 {
		check = weigh(d, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3) % 11 % 10
	}
	return check == d[10] && dated(d, 3, 5)
}

func norwegian(d []int) bool {
	return weigh(d, 3, 7, 6, 1, 8, 9, 4, 5, 2, 1)%11 == 0 && weigh(d, 5, 4, 3, 2, 7, 6, 5, 4, 3, 2, 1)%11 == 0
}

func turkish(d []int) bool {
	odd, even := d[0]+d[2]+d[4]+d[6]+d[8], d[1]+d[3]+d[5]+d[7]
	return (odd*7+90-even)%10 == d[9] && (odd+even+d[9])%10 == d[10]
}

func brazilian(d []int) bool {
	first := weigh(d, 10, 9, 8, 7, 6, 5, 4, 3, 2) * 10 % 11 % 10
	second := weigh(d, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2) * 10 % 11 % 10
	return first == d[9] && second == d[10]
}

// korean checks numbers that were given until 2020. Later ones have no check digit.
func korean(d []int) bool {
	return (11-weigh(d, 2, 3, 4, 5, 6, 7, 8, 9, 2, 3, 4, 5)%11)%10 == d[12] && dated(d, 2, 4)
}

func irish(text []byte) bool {
	d := digitsOf(text)
	return differ(d) && "WABCDEFGHIJKLMNOPQRSTUV"[weigh(d, 8, 7, 6, 5, 4, 3, 2)%23] == upper(text[len(text)-1])
}

func spanish(text []byte) bool {
	number := bytes.Clone(text[:8])
	if i := bytes.IndexByte([]byte("XYZ"), upper(number[0])); i >= 0 {
		number[0] = '0' + byte(i)
	}
	digits := digitsOf(number)
	return differ(digits) && numberOf(digits) != 12345678 && "TRWAGMYFPDXBNJZSQVHLCKE"[numberOf(digits)%23] == upper(text[len(text)-1])
}

// italian checks the last letter by the values of the letters and digits at odd and even places.
func italian(text []byte) bool {
	odd := [...]int{1, 0, 5, 7, 9, 13, 15, 17, 19, 21, 2, 4, 18, 20, 11, 3, 6, 8, 12, 14, 16, 10, 22, 25, 24, 23}
	sum := 0
	for i, c := range text[:15] {
		n := int(upper(c) - 'A')
		if isDigit(c) {
			n = int(c - '0')
		}
		if i%2 == 0 {
			n = odd[n]
		}
		sum += n
	}
	return byte('A'+sum%26) == upper(text[15])
}

func finnish(text []byte) bool {
	d := digitsOf(text[:len(text)-1])
	return len(d) == 9 && dated(d, 2, 0) && "0123456789ABCDEFHJKLMNPRSTUVWXY"[numberOf(d)%31] == upper(text[len(text)-1])
}

func chilean(text []byte) bool {
	d := digitsOf(text[:len(text)-1])
	sum, weight := 0, 2
	for i := len(d) - 1; i >= 0; i-- {
		sum += d[i] * weight
		if weight++; weight > 7 {
			weight = 2
		}
	}
	return differ(d) && "0123456789K0"[11-sum%11] == upper(text[len(text)-1])
}

// chinese checks the number by ISO/IEC 7064, MOD 11-2, and the day of birth in it.
func chinese(text []byte) bool {
	d := digitsOf(text[:17])
	check := weigh(d, 7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2) % 11
	return differ(d) && "10X98765432"[check] == upper(text[17]) && dated(d, 10, 12)
}

// upper returns the capital of an ASCII letter.
func upper(c byte) byte {
	if 'a' <= c && c <= 'z' {
		return c &^ 0x20
	}
	return c
}
